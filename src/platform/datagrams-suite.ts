/** The requirements for every Datagrams adapter. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Datagrams, SocketAddress } from './datagrams.ts';
import type { Net } from './net.ts';

/** An adapter with its own address, and a function that waits for its work. */
export interface DatagramsSubject {
  readonly datagrams: Datagrams;
  readonly net: Pick<Net, 'dial'>;
  readonly address: string;
}

/** Declares the tests. */
export function describeDatagrams(subject: () => DatagramsSubject): void {
  it('datagrams arrive with their sender, and replies return', async () => {
    const { datagrams, address } = subject();
    const server = await datagrams.openDatagrams({ address, port: 0 }, (data, from) =>
      server.send(Buffer.concat([Buffer.from('re '), data]), from),
    );
    const { promise, resolve } = Promise.withResolvers<[string, SocketAddress]>();
    const client = await datagrams.openDatagrams({ address: '0.0.0.0', port: 0 }, (data, from) =>
      resolve([Buffer.from(data).toString(), { address: from.address, port: from.port }]),
    );
    client.send(Buffer.from('hello'), server.local);
    assert.deepEqual(await promise, ['re hello', server.local]);
    await Promise.all([server.close(), client.close()]);
    await server.close();
    server.send(Buffer.from('late'), client.local);
  });

  it('an address is bound once, until it is closed', async () => {
    const { datagrams, address } = subject();
    const first = await datagrams.openDatagrams({ address, port: 0 }, () => undefined);
    await assert.rejects(
      datagrams.openDatagrams(first.local, () => undefined),
      { code: 'EADDRINUSE' },
    );
    await first.close();
    await (await datagrams.openDatagrams(first.local, () => undefined)).close();
    const listener = await datagrams.listenStreams({ address, port: 0 }, () => undefined);
    await assert.rejects(
      datagrams.listenStreams(listener.local, () => undefined),
      { code: 'EADDRINUSE' },
    );
    await listener.close();
  });

  it('streams carry both directions with half-close', async () => {
    const { datagrams, net, address } = subject();
    const listener = await datagrams.listenStreams({ address, port: 0 }, (connection) => {
      void (async () => {
        let text = '';
        for await (const chunk of connection.incoming) text += Buffer.from(chunk).toString();
        await connection.write(`got ${text}`);
        await connection.end();
      })();
    });
    const connection = await net.dial({ host: address, port: listener.local.port });
    await connection.write('all of it');
    await connection.end();
    let answer = '';
    for await (const chunk of connection.incoming) answer += Buffer.from(chunk).toString();
    assert.equal(answer, 'got all of it');
    await listener.close();
    await assert.rejects(net.dial({ host: address, port: listener.local.port }), { code: 'ECONNREFUSED' });
  });
}
