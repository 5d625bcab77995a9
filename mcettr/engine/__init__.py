"""The engines, and how their batches become estimates."""
