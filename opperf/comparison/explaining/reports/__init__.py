"""Reports of an explained difference."""
