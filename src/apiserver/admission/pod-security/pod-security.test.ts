import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../api/gen/core-v1.ts';
import { Deployments, Namespaces, Pods } from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { StatusError } from '../../../api/status-error.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { admit } from '../admission-fixture.ts';
import { detailsText, violationsOf } from './evaluate.ts';
import { createPodSecurity } from './pod-security.ts';
import { PRIVILEGED_POLICY, type LevelVersion } from './policy.ts';

const hard = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
};

interface Row {
  readonly what: string;
  readonly spec: Partial<PodSpec>;
  readonly level: LevelVersion['level'];
  readonly version?: number;
  readonly annotations?: Record<string, string>;
  readonly says: string;
}

/** A pod of one container with this security context. */
const context = (securityContext: object, more: object = {}): Partial<PodSpec> => ({
  containers: [{ name: 'c', securityContext, ...more }],
});

const rows: readonly Row[] = [
  { what: 'anything goes', level: 'privileged', spec: { hostPID: true }, says: '' },
  { what: 'a plain pod is baseline', level: 'baseline', spec: context({}), says: '' },
  {
    what: 'a plain pod is not restricted',
    level: 'restricted',
    spec: context({}),
    says: 'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  },
  { what: 'a hardened pod is restricted', level: 'restricted', spec: context(hard), says: '' },
  {
    what: 'the pod speaks for its containers',
    level: 'restricted',
    spec: {
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'Localhost', localhostProfile: 'x' } },
      ...context({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } }),
    },
    says: '',
  },
  {
    what: 'host namespaces',
    level: 'baseline',
    spec: { hostNetwork: true, hostIPC: true, hostPID: true, containers: [] },
    says: 'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)',
  },
  {
    what: 'privileged init and other containers',
    level: 'baseline',
    spec: {
      initContainers: [{ name: 'i', securityContext: { privileged: true } }],
      containers: [{ name: 'c', securityContext: { privileged: true } }],
    },
    says: 'privileged (containers "i", "c" must not set securityContext.privileged=true)',
  },
  {
    what: 'capabilities',
    level: 'baseline',
    spec: context({ capabilities: { add: ['NET_ADMIN', 'CHOWN', 'BPF'] } }),
    says: 'non-default capabilities (container "c" must not include "BPF", "NET_ADMIN" in securityContext.capabilities.add)',
  },
  {
    what: 'host paths',
    level: 'baseline',
    spec: {
      containers: [],
      volumes: [
        { name: 'a', hostPath: { path: '/' } },
        { name: 'b', emptyDir: {} },
      ],
    },
    says: 'hostPath volumes (volume "a")',
  },
  {
    what: 'host paths are restricted volumes at the stricter level',
    level: 'restricted',
    spec: {
      containers: [],
      volumes: [
        { name: 'a', hostPath: { path: '/' } },
        { name: 'b', nfs: { server: 's', path: '/' } },
      ],
    },
    says: 'restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")',
  },
  {
    what: 'host ports',
    level: 'baseline',
    spec: {
      containers: [
        {
          name: 'c',
          ports: [
            { containerPort: 1, hostPort: 80 },
            { containerPort: 2, hostPort: 443 },
          ],
        },
      ],
    },
    says: 'hostPort (container "c" uses hostPorts 443, 80)',
  },
  {
    what: 'hosts of probes',
    level: 'baseline',
    spec: context({}, { livenessProbe: { httpGet: { port: 1, host: '1.2.3.4' } } }),
    says: 'probe or lifecycle host (container "c" uses probe or lifecycle host "1.2.3.4")',
  },
  {
    what: 'hosts of probes were nothing before 1.34',
    level: 'baseline',
    version: 33,
    spec: context({}, { livenessProbe: { httpGet: { port: 1, host: '1.2.3.4' } } }),
    says: '',
  },
  {
    what: 'AppArmor by field',
    level: 'baseline',
    spec: { securityContext: { appArmorProfile: { type: 'Unconfined' } }, containers: [] },
    says: 'forbidden AppArmor profile (pod must not set AppArmor profile type to "Unconfined")',
  },
  {
    what: 'AppArmor by annotation',
    level: 'baseline',
    spec: { containers: [] },
    annotations: {
      'container.apparmor.security.beta.kubernetes.io/e': 'unconfined',
      'container.apparmor.security.beta.kubernetes.io/a': 'bogus',
      'container.apparmor.security.beta.kubernetes.io/b': 'localhost/x',
    },
    says: 'forbidden AppArmor profiles (container.apparmor.security.beta.kubernetes.io/a="bogus", container.apparmor.security.beta.kubernetes.io/e="unconfined")',
  },
  {
    what: 'SELinux',
    level: 'baseline',
    spec: {
      securityContext: { seLinuxOptions: { role: 'r', type: 'container_t' } },
      ...context({ seLinuxOptions: { type: 'spc_t' } }),
    },
    says: 'seLinuxOptions (pod and container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; role may not be set)',
  },
  {
    what: 'an unmasked /proc',
    level: 'baseline',
    spec: context({ procMount: 'Unmasked' }),
    says: 'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
  },
  {
    what: 'an unmasked /proc in a user namespace',
    level: 'baseline',
    spec: { hostUsers: false, ...context({ procMount: 'Unmasked' }) },
    says: '',
  },
  {
    what: 'seccomp',
    level: 'baseline',
    spec: { securityContext: { seccompProfile: { type: 'Unconfined' } }, containers: [] },
    says: 'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  },
  {
    what: 'sysctls',
    level: 'baseline',
    spec: {
      securityContext: {
        sysctls: [
          { name: 'kernel.msgmax', value: '1' },
          { name: 'net.ipv4.tcp_rmem', value: '1' },
        ],
      },
      containers: [],
    },
    says: 'forbidden sysctl (kernel.msgmax)',
  },
  {
    what: 'host processes of Windows',
    level: 'baseline',
    spec: context({ windowsOptions: { hostProcess: true } }),
    says: 'hostProcess (container "c" must not set securityContext.windowsOptions.hostProcess=true)',
  },
  {
    what: 'root',
    level: 'restricted',
    spec: { securityContext: { runAsUser: 0 }, ...context({ ...hard, runAsNonRoot: false, runAsUser: 0 }) },
    says: 'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false), runAsUser=0 (pod and container "c" must not set runAsUser=0)',
  },
  {
    what: 'root in a user namespace',
    level: 'restricted',
    spec: { hostUsers: false, ...context({ ...hard, runAsNonRoot: false, runAsUser: 0 }) },
    says: '',
  },
  {
    what: 'Windows is not asked for what is Linux only',
    level: 'restricted',
    spec: { os: { name: 'windows' }, ...context({ runAsNonRoot: true }) },
    says: '',
  },
];

for (const { what, spec, level, version = 'latest', annotations = {}, says } of rows) {
  test(`pod security: ${what}`, () => {
    const violations = violationsOf({ annotations }, spec as PodSpec, { level, version });
    assert.equal(detailsText(violations), says);
  });
}

const pod = (securityContext: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns' },
  spec: { containers: [{ name: 'c', securityContext }] },
});

function setUp(labels: Record<string, string>, config?: Parameters<typeof createPodSecurity>[1]) {
  const objects = createTestObjects();
  objects.put(Namespaces, { metadata: { name: 'ns', labels } });
  return { objects, plugin: createPodSecurity(() => objects.store, config) };
}

const label = (mode: string, level: string): Record<string, string> => ({
  [`pod-security.kubernetes.io/${mode}`]: level,
});

test('enforce refuses pods and not workloads, warn warns of both', async () => {
  const { plugin } = setUp({ ...label('enforce', 'baseline'), ...label('warn', 'restricted') });
  await assert.rejects(admit(plugin, Pods, { object: pod({ privileged: true }) }), {
    message:
      'pods "p" is forbidden: violates PodSecurity "baseline:latest": privileged (container "c" must not set securityContext.privileged=true)',
  });
  const warnings: string[] = [];
  await admit(plugin, Pods, { object: pod(), warnings });
  assert.match(warnings[0]!, /^would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false/);
  const template = { spec: pod({ privileged: true }).spec };
  const deployment = { metadata: { name: 'd', namespace: 'ns' }, spec: { template } } as KubernetesObject;
  const ofDeployment: string[] = [];
  await admit(plugin, Deployments, { object: deployment, warnings: ofDeployment });
  assert.match(ofDeployment[0]!, /^would violate PodSecurity "restricted:latest": privileged/);
});

test('exempt users, namespaces and runtime classes; updates that change nothing of concern', async () => {
  const exempting = (exemptions: object) => ({
    defaults: PRIVILEGED_POLICY,
    exemptions: { usernames: [], namespaces: [], runtimeClasses: [], ...exemptions },
  });
  for (const exemptions of [{ usernames: ['admin'] }, { namespaces: ['ns'] }, { runtimeClasses: [''] }]) {
    const { plugin } = setUp(label('enforce', 'restricted'), exempting(exemptions));
    await admit(plugin, Pods, { object: pod() });
  }
  const { plugin } = setUp(label('enforce', 'restricted'));
  await admit(plugin, Pods, { operation: 'UPDATE', object: pod(), oldObject: pod() });
  await assert.rejects(
    admit(plugin, Pods, { operation: 'UPDATE', object: pod({ privileged: true }), oldObject: pod() }),
  );
});

test('labels of namespaces: invalid ones are refused, stricter ones warn of existing pods', async () => {
  const { objects, plugin } = setUp({});
  const namespace = (labels: Record<string, string>): KubernetesObject => ({ metadata: { name: 'ns', labels } });
  await assert.rejects(
    admit(plugin, Namespaces, { object: namespace({ ...label('enforce', 'strict'), ...label('warn-version', 'v2') }) }),
    (error: StatusError) => {
      assert.equal(error.code, 422);
      assert.match(
        error.message,
        /metadata.labels\[pod-security.kubernetes.io\/enforce\]: Invalid value: "strict": must be one of privileged, baseline, restricted/,
      );
      return true;
    },
  );
  for (const name of ['b', 'a', 'z'])
    objects.put(Pods, { ...pod(name === 'z' ? { privileged: true } : {}), metadata: { name, namespace: 'ns' } });
  const warnings: string[] = [];
  await admit(plugin, Namespaces, {
    operation: 'UPDATE',
    object: namespace(label('enforce', 'restricted')),
    oldObject: namespace({}),
    warnings,
  });
  const rest = 'allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile';
  assert.deepEqual(warnings, [
    'existing pods in namespace "ns" violate the new PodSecurity enforce level "restricted:latest"',
    `a (and 1 other pod): ${rest}`,
    `z: privileged, ${rest}`,
  ]);
  const relaxed: string[] = [];
  await admit(plugin, Namespaces, {
    operation: 'UPDATE',
    object: namespace(label('enforce', 'baseline')),
    oldObject: namespace(label('enforce', 'restricted')),
    warnings: relaxed,
  });
  assert.deepEqual(relaxed, []);
});
