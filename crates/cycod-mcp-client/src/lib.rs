//! Brings the tools of other programs in over the Model Context Protocol.
