import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeDatagrams } from '../datagrams-suite.ts';
import { createSimPlatform } from './sim-platform.ts';

describe('simulated datagrams', () => {
  describeDatagrams(() => {
    const { datagrams, net } = createSimPlatform();
    return { datagrams, net, address: '10.0.0.1' };
  });

  it('travel between hosts that reach each other', async () => {
    const here = createSimPlatform({ addresses: ['10.0.0.1'] });
    const there = createSimPlatform({ addresses: ['10.0.0.2'], beside: here });
    const seen: string[] = [];
    await there.datagrams.openDatagrams({ address: '0.0.0.0', port: 53 }, (data, from) =>
      seen.push(`${Buffer.from(data).toString()} from ${from.address}`),
    );
    const socket = await here.datagrams.openDatagrams({ address: '0.0.0.0', port: 0 }, () => undefined);
    socket.send(Buffer.from('one'), { address: '10.0.0.2', port: 53 });
    await here.clock.settle();
    here.network.reachable = () => false;
    socket.send(Buffer.from('two'), { address: '10.0.0.2', port: 53 });
    socket.send(Buffer.from('lost'), { address: '127.0.0.1', port: 53 });
    await here.clock.settle();
    assert.deepEqual(seen, ['one from 10.0.0.1']);
  });
});
