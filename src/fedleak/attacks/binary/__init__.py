"""Binary tables from their inner products: exact integer kernels, without any view."""
