import { createApp } from './app.js';

const port = Number(process.env.PORT ?? 3000);
const host = process.env.HOST ?? '127.0.0.1';
if (!Number.isInteger(port) || port < 0 || port > 65535) {
  console.error(`error: PORT is not a port: ${process.env.PORT}`);
  process.exit(2);
}

const server = createApp();
server.on('error', (error) => {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
});
server.listen(port, host, () => {
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  console.log(`listening on http://${host}:${bound}`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  // Requests that have begun are answered; connections that only wait are closed.
  process.once(signal, () => {
    server.close();
    server.closeIdleConnections();
  });
}
