"""Who holds what: tables by columns, rows among parties, images by patches."""
