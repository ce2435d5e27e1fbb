"""The press: how the book is executed, checked and built. No page imports it."""

import sys

if sys.version_info < (3, 11):
    raise SystemExit(f"this book needs Python 3.11 or newer; this is {sys.version.split()[0]}")
