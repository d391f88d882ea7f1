import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkPolicies, Nodes } from '../../api/gen/resources.ts';
import { createInProcessClient } from '../../client/in-process-transport.ts';
import { createInformerFactory } from '../../client/informer-factory.ts';
import { createFakeApi } from '../../client/fake-api-fixture.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { runNetworkPolicies } from './network-policies.ts';

test('a policy that is too large gets an event; the policies beside it are programmed', async () => {
  const platform = createSimPlatform();
  const { clock, exec, random, log } = platform;
  const scripts: string[] = [];
  exec.program('nft', ({ options }) => {
    scripts.push(String(options.input));
    return {};
  });
  const api = createFakeApi(() => '2026-01-01T00:00:00Z');
  const ports = Array.from({ length: 20_000 }, (_, i) => ({ port: i + 1 }));
  api.seed(Nodes, { metadata: { name: 'here' } });
  const policy = (name: string, app: string, rule: object) => ({
    metadata: { namespace: 'ns', name },
    spec: { podSelector: { matchLabels: { app } }, ingress: [rule] },
  });
  api.seed(NetworkPolicies, policy('huge', 'huge', { ports }));
  api.seed(NetworkPolicies, policy('small', 'small', { from: [{ podSelector: {} }] }));
  const principal = { name: 'p', groups: [] };
  const client = createInProcessClient({ handler: api.handler, clock, principal, userAgent: 'test' });
  const informers = createInformerFactory({ client, clock, random, log });
  const events: string[] = [];
  const recorder = {
    event: (about: { metadata?: { name?: string } }, type: string, ...[reason, message]: string[]) =>
      void events.push(`${about.metadata?.name} ${type} ${reason} ${message}`),
  };
  const stop = new AbortController();
  const config = { nodeName: 'here', table: 'kt', clusterCidr: '10.42.0.0/16' };
  const running = runNetworkPolicies({ informers, platform, recorder: recorder as never }, config, stop.signal);
  informers.start(stop.signal);
  await clock.settle();
  stop.abort();
  await clock.drive(running);
  assert.deepEqual(events, [
    'huge Warning NetworkPolicyTooLarge all its traffic is refused: it has 20001 rules, address blocks, exceptions and ports, more than 10000',
  ]);
  assert.match(scripts.join(), /add set ip kt pods-/);
});
