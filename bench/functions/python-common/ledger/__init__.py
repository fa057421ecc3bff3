"""The payment, as both Python functions make it."""
