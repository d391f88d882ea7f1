import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AllocatedDeviceStatus, AllocationResult, ResourceClaim } from '../../../api/gen/resource-v1.ts';
import { ResourceClaims, ResourceClaimsV1beta1 } from '../../../api/gen/resources.ts';
import type { Principal } from '../../../api/transport.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authz/contract.ts';
import { admit } from '../admission-fixture.ts';
import { createClaimStatusAuthorization } from './claim-status-authorization.ts';

type Status = NonNullable<ResourceClaim['status']>;

const onNodes = (values: string[], more: object = {}): AllocationResult => ({
  nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values }], ...more }] },
  devices: { results: [{ request: 'r', driver: 'a.io', pool: 'p', device: 'd' }] },
});
const said = (driver = 'a.io', condition = 'Ready', device = 'd'): AllocatedDeviceStatus => ({
  driver,
  pool: 'p',
  device,
  conditions: [
    { type: condition, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'r', message: '' },
  ],
});
const ACCOUNT = 'system:serviceaccount:drivers:a';
const from = (...nodes: string[]): Principal => ({
  name: ACCOUNT,
  groups: [],
  extra: { 'authentication.kubernetes.io/node-name': nodes },
});

interface Request {
  readonly user?: Principal;
  readonly verb?: string;
  readonly may?: readonly string[];
}

/** Changes the status; resolves to the questions to the authorizer, as `verb subresource@namespace#name`. */
async function change(old: Status, status: Status, { user = from(), verb = 'update', may = [] }: Request = {}) {
  const asked: string[] = [];
  const authorizer: Authorizer = {
    authorize({ verb: each, apiGroup, resource, subresource, namespace, name }: AuthorizationAttributes) {
      assert.equal(`${apiGroup}/${resource}`, 'resource.k8s.io/resourceclaims');
      const text = `${each} ${subresource}@${namespace}#${name}`;
      asked.push(text);
      return { decision: may.includes(text) ? 'allow' : 'noOpinion', reason: 'no rule' };
    },
  };
  const claim = (of: Status): ResourceClaim => ({
    metadata: { name: 'c', namespace: 'ns' },
    spec: { devices: {} },
    status: of,
  });
  const plugin = createClaimStatusAuthorization(authorizer);
  const about = { operation: 'UPDATE', subresource: 'status', verb, user } as const;
  const result = await admit(plugin, ResourceClaims, { ...about, object: claim(status), oldObject: claim(old) }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { asked, result };
}

describe('the binding of a claim', () => {
  const one = onNodes(['n1']);
  const reserved = [{ resource: 'pods', name: 'p', uid: 'u' }];
  const rows: [what: string, old: Status, now: Status][] = [
    ['allocates', {}, { allocation: one }],
    ['reserves', { allocation: one }, { allocation: one, reservedFor: reserved }],
    ['gives a reservation back', { allocation: one, reservedFor: reserved }, { allocation: one }],
    ['gives devices back, with what was said of them', { allocation: one, devices: [said()] }, {}],
    [
      'gives devices back by their drivers too',
      { allocation: one, devices: [said(), said('b.io')] },
      {
        devices: [said('b.io')],
      },
    ],
  ];
  for (const [what, old, now] of rows)
    for (const verb of ['update', 'patch'])
      it(`${what}: needs ${verb} of resourceclaims/binding in the whole cluster`, async () => {
        const needs = `${verb} binding@#`;
        assert.deepEqual(await change(old, now, { verb, may: [needs] }), { asked: [needs], result: undefined });
        const refused = await change(old, now, { verb });
        assert.equal(
          refused.result,
          'ResourceClaim.resource.k8s.io "c" is invalid: status: Forbidden: changing status.allocation or ' +
            `status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission: ` +
            `resourceclaims.resource.k8s.io is forbidden: User "${ACCOUNT}" cannot ${verb} resource ` +
            '"resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope: no rule',
        );
      });

  it('is not authorized when the status does not change it', async () => {
    const old = { allocation: one, reservedFor: [] };
    assert.deepEqual(await change(old, { allocation: one }), { asked: [], result: undefined });
  });
});

describe('the device status of a claim', () => {
  const one = onNodes(['n1']);
  const associated = (driver = 'a.io', verb = 'update'): string => `associated-node:${verb} driver@ns#${driver}`;
  const arbitrary = (driver = 'a.io', verb = 'update'): string => `arbitrary-node:${verb} driver@ns#${driver}`;
  const now = { allocation: one, devices: [said()] };
  const rows: [what: string, now: Status, request: Request, asked: string[], refused: boolean][] = [
    ['as the account on its node', now, { user: from('n1'), may: [associated()] }, [associated()], false],
    ['there, by the wider right', now, { user: from('n1'), may: [arbitrary()] }, [associated(), arbitrary()], false],
    ['there, without rights', now, { user: from('n1') }, [associated(), arbitrary()], true],
    [
      'there, for another driver',
      now,
      { user: from('n1'), may: [associated('b.io')] },
      [associated(), arbitrary()],
      true,
    ],
    ['on another node', now, { user: from('n2'), may: [associated()] }, [arbitrary()], true],
    ['on two nodes', now, { user: from('n1', 'n1'), may: [associated()] }, [arbitrary()], true],
    ['from nowhere', now, { user: from(), may: [arbitrary()] }, [arbitrary()], false],
    ['as no account', now, { user: { ...from('n1'), name: 'ann' }, may: [associated()] }, [arbitrary()], true],
    [
      'by a patch',
      now,
      { user: from('n1'), verb: 'patch', may: [associated('a.io', 'patch')] },
      [associated('a.io', 'patch')],
      false,
    ],
  ];
  for (const [what, status, request, asked, refused] of rows)
    it(`${what}: ${refused ? 'refused' : 'allowed'}`, async () => {
      const { result, ...rest } = await change({ allocation: one }, status, request);
      assert.deepEqual(rest.asked, asked);
      assert.equal(result !== undefined, refused, result);
    });

  const wider = [onNodes(['n1', 'n2']), onNodes(['n1'], { matchExpressions: [{ key: 'a', operator: 'Exists' }] }), {}];
  for (const allocation of wider)
    it(`of a claim for ${JSON.stringify(allocation.nodeSelector ?? 'all nodes')}: nobody is on its node`, async () => {
      const status = { allocation, devices: [said()] };
      const { asked } = await change({ allocation }, status, { user: from('n1') });
      assert.deepEqual(asked, [arbitrary()]);
    });

  it('needs the right for each driver whose devices it adds, changes or removes, and no other', async () => {
    const old = { allocation: one, devices: [said('same.io'), said('changed.io'), said('gone.io')] };
    const status = { allocation: one, devices: [said('same.io'), said('changed.io', 'Lost'), said('new.io')] };
    const { asked, result } = await change(old, status, { may: [arbitrary('new.io')] });
    assert.deepEqual(asked, [arbitrary('changed.io'), arbitrary('gone.io'), arbitrary('new.io')]);
    assert.deepEqual(result?.match(/"(changed|gone|new)\.io" is forbidden/g), [
      '"changed.io" is forbidden',
      '"gone.io" is forbidden',
    ]);
    assert.match(
      result ?? '',
      /status\.devices: Forbidden: changing status\.devices requires resource="resourceclaims\/driver", verb="\[arbitrary-node:update\]" permission: resourceclaims\.resource\.k8s\.io "changed\.io" is forbidden: User "system:serviceaccount:drivers:a" cannot arbitrary-node:update resource "resourceclaims\/driver" in API group "resource\.k8s\.io" in the namespace "ns": no rule/,
    );
  });

  it('needs both rights for a binding and a device status in one request', async () => {
    const { asked, result } = await change({}, now, { user: from('n1'), may: [associated()] });
    assert.deepEqual(asked, ['update binding@#', associated()]);
    assert.match(result ?? '', /invalid: status: Forbidden: changing status\.allocation/);
  });
});

it('compares only the status, in every version', () => {
  const plugin = createClaimStatusAuthorization({ authorize: () => ({ decision: 'noOpinion', reason: '' }) });
  assert.equal(plugin.handles('UPDATE', ResourceClaimsV1beta1, 'status'), true);
  assert.equal(plugin.handles('UPDATE', ResourceClaims, ''), false);
  assert.equal(plugin.handles('CREATE', ResourceClaims, ''), false);
});
