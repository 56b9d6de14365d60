"""The one loop around every method: stopping, recording, statuses; over compiled runs or plain ones."""
