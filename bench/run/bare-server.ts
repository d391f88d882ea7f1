// The baseline of Node.js: an HTTPS server that responds to every request with the same 1.3 KB.
//
//   node bench/run/bare-server.ts CERTIFICATE KEY
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

const [cert = '', key = ''] = process.argv.slice(2);
const body = Buffer.from(JSON.stringify({ payload: 'x'.repeat(1280) }));
const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
  response.end(body);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(typeof address === 'object' && address !== null ? address.port : 0);
});
