-- One request, sent by every client at once: only one payment may be made.
SELECT status, body, replayed FROM pay(1, 1, 1, 700, 'same-key', '\x07');
