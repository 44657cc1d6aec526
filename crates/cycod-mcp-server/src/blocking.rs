//! Work that may wait for a disk, away from the thread that serves every client.

use rmcp::ErrorData;

/// Does what may wait for a disk elsewhere than on the thread that serves everybody.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ErrorData> {
    cycod_thread::blocking(work)
        .await
        .map_err(|error| ErrorData::internal_error(format!("the work broke off: {error}"), None))
}
