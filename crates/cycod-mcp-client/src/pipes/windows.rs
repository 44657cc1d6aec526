//! Pipes that a thread each waits for: the runtime can't watch a pipe without a name.

use std::io::{self, PipeReader, PipeWriter, Read, Write};

use cycod_thread::Thread;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    runtime::Handle,
};

pub(crate) type Receiver = DuplexStream;
pub(crate) type Sender = DuplexStream;

/// How many bytes wait between a thread and the runtime.
const ROOM: usize = 64 * 1024;

/// Reads a pipe on the runtime.
pub(crate) fn receiver(mut pipe: PipeReader) -> io::Result<Receiver> {
    let (ours, mut its) = duplex(ROOM);
    let runtime = Handle::current();
    Thread::named("mcp-pipe").detach(move || {
        let mut bytes = vec![0; ROOM];
        while let Ok(count @ 1..) = pipe.read(&mut bytes) {
            if runtime.block_on(its.write_all(&bytes[..count])).is_err() {
                return;
            }
        }
    })?;
    Ok(ours)
}

/// Writes to a pipe on the runtime. The pipe closes when what was written before is in it.
pub(crate) fn sender(mut pipe: PipeWriter) -> io::Result<Sender> {
    let (ours, mut its) = duplex(ROOM);
    let runtime = Handle::current();
    Thread::named("mcp-pipe").detach(move || {
        let mut bytes = vec![0; ROOM];
        while let Ok(count @ 1..) = runtime.block_on(its.read(&mut bytes)) {
            if pipe.write_all(&bytes[..count]).is_err() {
                return;
            }
        }
    })?;
    Ok(ours)
}
