//! What must outlast a call: outputs too large to hand over, pins, keys.
