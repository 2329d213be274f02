"""Installers under attack: killed, crowded, starved of room; see ``__main__``."""
