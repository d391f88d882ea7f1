import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { StatusError } from '../../api/status-error.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import { createFixture, echo, messageOf, objectsWith, pod, read, text } from './kubelet-connector-fixture.ts';
import { createKubeletConnector } from './kubelet-connector.ts';
import { containerOf, logQuery, portForwardQuery, streamQuery } from './pod-options.ts';

test('a log is sent over a WebSocket to a client that requests one', async () => {
  const { connector, call } = await createFixture(echo);
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
  const response = await connector.connectPod(pod, 'log', call('/log', { headers, wantsUpgrade: true }));
  assert.equal(response.kind, 'upgrade');
  const [client, server] = createDuplexPair();
  if (response.kind === 'upgrade') void response.accept(server);
  let received = '';
  for await (const chunk of client.incoming) received += Buffer.from(chunk).toString('latin1');
  assert.match(received, /GET \/containerLogs\/default\/web\/a\?/);
});

test('the container meant', () => {
  const two = stored<Pod>({
    ...pod,
    spec: {
      containers: [{ name: 'a' }, { name: 'b' }],
      initContainers: [{ name: 'i' }],
      ephemeralContainers: [{ name: 'e' }],
    },
  });
  assert.equal(containerOf(pod, ''), 'a');
  for (const name of ['b', 'i', 'e']) assert.equal(containerOf(two, name), name);
  assert.equal(
    messageOf(() => containerOf(two, '')),
    'a container name must be specified for pod web, choose one of: [a b] or one of the init containers: [i]',
  );
  assert.equal(
    messageOf(() => containerOf(two, 'x')),
    'container x is not valid for pod web',
  );
});

test('options are translated to those of the kubelet', () => {
  const q = (query: string): URLSearchParams => new URLSearchParams(query);
  assert.equal(
    logQuery(q('follow=true&tailLines=0&limitBytes=5&sinceSeconds=3&timestamps=1&previous=false&pretty=true'), 'web'),
    'follow=true&timestamps=true&tailLines=0&limitBytes=5&sinceSeconds=3',
  );
  assert.equal(logQuery(q('stream=Stderr'), 'web'), 'stream=Stderr');
  assert.equal(
    streamQuery(q('command=ls&command=-l&stdin=true&stdout=true&tty=true&stderr=false'), 'exec'),
    'input=1&output=1&tty=1&command=ls&command=-l',
  );
  assert.equal(streamQuery(q(''), 'attach'), 'output=1&error=1');
  assert.equal(portForwardQuery(q('ports=80&ports=443')), 'port=80&port=443');
  const refusals: readonly (readonly [() => unknown, string])[] = [
    [
      () => logQuery(q('tailLines=-1'), 'web'),
      'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0',
    ],
    [
      () => logQuery(q('limitBytes=0'), 'web'),
      'PodLogOptions "web" is invalid: limitBytes: Invalid value: 0: must be greater than 0',
    ],
    [
      () => logQuery(q('sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z'), 'web'),
      'PodLogOptions "web" is invalid: sinceSeconds: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    ],
    [
      () => streamQuery(q('stdout=false&stderr=false&command=x'), 'exec'),
      'you must specify at least 1 of stdin, stdout, stderr',
    ],
    [() => streamQuery(q('stdout=maybe&command=x'), 'exec'), 'strconv.ParseBool: parsing "maybe": invalid syntax'],
  ];
  for (const [work, message] of refusals) assert.equal(messageOf(work), message);
});

test("logs are read from the kubelet of the pod's node; its refusals keep their text", async () => {
  const { connector, call } = await createFixture(echo);
  assert.deepEqual(await read(await connector.connectPod(pod, 'log', call('/x?follow=true'))), {
    status: 200,
    body: 'GET /containerLogs/default/web/a?follow=true',
  });
  const unscheduled = stored<Pod>({ ...pod, spec: { containers: [{ name: 'a' }] } });
  assert.deepEqual(await read(await connector.connectPod(unscheduled, 'log', call('/x'))), { status: 200, body: '' });
  await assert.rejects(connector.connectPod(unscheduled, 'exec', call('/x?command=ls')), {
    message: 'pod web does not have a host assigned',
  });
  await assert.rejects(connector.connectPod(pod, 'exec', call('/x?command=ls')), {
    message: 'Upgrade request required',
  });
  await assert.rejects(connector.connectPod({ ...pod, spec: { ...pod.spec!, nodeName: 'gone' } }, 'log', call('/x')), {
    message: 'nodes "gone" not found',
  });
  for (const [status, reason, message] of [
    [400, 'BadRequest', 'still starting'],
    [500, 'InternalError', 'Internal error occurred: still starting'],
    [404, 'NotFound', 'the server could not find the requested resource ( pods/log web)'],
  ] as const) {
    const refusing = await createFixture(() => text(status, 'still starting'));
    await assert.rejects(
      refusing.connector.connectPod(pod, 'log', refusing.call('/x')),
      (error: StatusError) => error.code === status && error.reason === reason && error.message === message,
    );
  }
});

test('a kubelet that is away is a 500 that names it', async () => {
  const platform = createSimPlatform();
  const connector = createKubeletConnector({
    net: platform.net,
    random: platform.random,
    crypto: platform.crypto,
    clock: platform.clock,
    objects: objectsWith(),
    kubeletTls: () => ({}),
  });
  const { call } = await createFixture(echo);
  await assert.rejects(
    connector.connectPod(pod, 'log', call('/x')),
    (error: StatusError) =>
      error.code === 500 && error.message === 'error dialing backend: connect ECONNREFUSED 10.0.0.2:10251',
  );
});
