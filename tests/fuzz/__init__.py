"""Parsers fed with what nobody would write; see ``__main__``."""
