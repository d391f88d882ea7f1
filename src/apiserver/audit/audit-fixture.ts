import { createSeededRandom } from '../../platform/sim/random.ts';
import { startTestServer, testPlatform } from '../server-fixture.ts';
import { createAuditor } from './auditor.ts';
import type { AuditBackend, AuditEvent } from './event.ts';
import { checkPolicy } from './policy.ts';

/** Audit events and backends of tests. */

export const policyOf = (value: object) => checkPolicy({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...value });

export async function audited(level: string, more: object = {}, backends: readonly AuditBackend[] = []) {
  const events: AuditEvent[] = [];
  const platform = testPlatform();
  const auditor = createAuditor({
    policy: policyOf({ rules: [{ level, ...more }] }),
    backends: [{ write: (event) => void events.push(event), stop: async () => undefined }, ...backends],
    clock: platform.clock,
    random: createSeededRandom(1),
  });
  return { events, server: await startTestServer({ platform, auditor }) };
}

export const MAPS = '/api/v1/namespaces/default/configmaps';

export function eventOf(auditID: string): AuditEvent {
  return {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID,
    stage: 'ResponseComplete',
    requestURI: '/x',
    verb: 'get',
    user: { username: 'ann', groups: ['g'] },
    requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
    stageTimestamp: '2026-01-01T00:00:00.000000Z',
  };
}
