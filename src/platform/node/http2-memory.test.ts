import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { RAW_HTTP2 } from './raw-http2-fixture.ts';

const at = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);

/** A separate process, since it counts all TLS sockets. Prints how many closed ones stay in memory. */
const program = `
  const { Session } = await import('node:inspector/promises');
  const { connect } = await import('node:tls');
  const { createListenHttp } = await import(${at('./http-server.ts')});
  const { createTestAuthority } = await import(${at('./certificates-fixture.ts')});
  const { createMemoryLog } = await import(${at('../sim/log.ts')});

  const tls = await (await createTestAuthority('a')).issue('CN=server', ['127.0.0.1']);
  ${RAW_HTTP2}
  let onRequest = () => undefined;
  const serve = () => {
    onRequest();
    return new Promise(() => undefined);
  };
  const server = await createListenHttp(createMemoryLog())({ host: '127.0.0.1', port: 0, tls }, serve);
  // The client goes some turns of the loop after what HTTP/2 does not know: while the server says so, before and after.
  const breakOff = (turns) => new Promise((resolve) => {
    const options = { host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
    const socket = connect(options, () => {
      socket.write('GET / HTTP/1.1\\r\\n\\r\\n');
      const next = () => (turns-- > 0 ? setImmediate(next) : socket.destroy());
      next();
    });
    socket.on('error', () => undefined).on('close', resolve).resume();
  });
  for (let count = 0; count < 60; count++) await breakOff(count % 20);
  // The protocol is broken amid a request that waits for its answer.
  const breakAmid = (broken) => new Promise((resolve) => {
    const options = { host: '127.0.0.1', port: server.port, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
    const socket = connect(options, () => socket.write(Buffer.concat([start, get(1)])));
    socket.on('error', () => undefined).on('close', resolve).resume();
    onRequest = () => socket.write(broken);
  });
  for (const broken of Object.values(brokenFrames)) for (let count = 0; count < 20; count++) await breakAmid(broken);
  onRequest = () => undefined;

  const inspector = new Session();
  inspector.connect();
  const call = (method, params) => inspector.post('Runtime.' + method, params);
  const closedSockets = async () => {
    gc();
    const expression = 'process.getBuiltinModule("node:tls").TLSSocket.prototype';
    const prototype = await call('evaluate', { expression });
    const { objects } = await call('queryObjects', { prototypeObjectId: prototype.result.objectId });
    const functionDeclaration = 'function () { return this.filter((socket) => socket.destroyed).length; }';
    const counted = await call('callFunctionOn', { objectId: objects.objectId, functionDeclaration });
    await call('releaseObject', { objectId: objects.objectId });
    return counted.result.value;
  };
  let closed;
  // Sockets take some turns of the loop to end.
  for (let turn = 0; turn < 50 && (closed = await closedSockets()) > 0; turn++) await new Promise(setImmediate);
  console.log(closed);
  process.exit();`;

test('nothing stays in memory of HTTP/2 connections that a protocol error ended', () => {
  const flags = ['--conditions=keelson-source', '--expose-gc', '--input-type=module'];
  assert.equal(execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' }).trim(), '0');
});
