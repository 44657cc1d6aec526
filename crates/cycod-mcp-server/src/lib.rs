//! Offers tools over the Model Context Protocol.
