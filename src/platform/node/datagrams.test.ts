import { describe } from 'node:test';
import { describeDatagrams } from '../datagrams-suite.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createNodeDatagrams } from './datagrams.ts';
import { createNodeNet } from './net.ts';

describe('datagrams of this machine', () => {
  describeDatagrams(() => ({
    datagrams: createNodeDatagrams(createMemoryLog()),
    net: createNodeNet(),
    address: '127.0.0.1',
  }));
});
