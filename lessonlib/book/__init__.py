"""The press: how the book is executed, checked and built. No page imports it."""

import sys

if not (3, 11) <= sys.version_info < (3, 14):  # written so that any Python can read it
    raise SystemExit("this book needs Python 3.11, 3.12 or 3.13; this is %d.%d" % sys.version_info[:2])
