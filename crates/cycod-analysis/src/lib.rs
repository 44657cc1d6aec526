//! What is to be said about source code: metrics, findings of analysers, and rules of our own.
