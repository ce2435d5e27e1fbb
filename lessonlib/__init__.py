"""Code that the chapters of *Sequences, Measured* import, one module a subject.

`lessonlib.book`, which executes, checks and builds the book, is never imported by a page.
"""
