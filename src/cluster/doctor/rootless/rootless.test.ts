import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../../../platform/sim/sim-platform.ts';
import { examineBy } from '../report.ts';
import { readRootless, subordinateIds } from './read-rootless.ts';
import { ROOTLESS_CHECKS } from './rootless-checks.ts';
import type { RootlessFacts } from './rootless-facts.ts';

const FITTING: RootlessFacts = {
  user: { name: 'alice', uid: 1000 },
  namespaces: { max: 28633, isCloneAllowed: undefined, isRestricted: false, error: undefined },
  subordinate: { uids: 65_536, gids: 65_536 },
  programs: new Set(['newuidmap', 'newgidmap', 'pasta']),
  hasTun: true,
  hasFuse: false,
  overlayError: undefined,
  cgroups: { version: 2, delegated: ['cpu', 'cpuset', 'io', 'memory', 'pids'] },
  firstPort: 80,
};

test('a machine that has everything is right in every line', () => {
  const { level, checks } = examineBy(ROOTLESS_CHECKS, FITTING);
  assert.equal(level, 'ok');
  assert.deepEqual(
    checks.map(({ name }) => name),
    ['namespaces', 'subids', 'network', 'overlay', 'cgroups'],
  );
});

const { namespaces, cgroups } = FITTING;
const CASES: readonly [Partial<RootlessFacts>, name: string, level: string, message: RegExp, cure: RegExp][] = [
  [
    { namespaces: { ...namespaces, max: undefined } },
    'namespaces',
    'error',
    /has no user namespaces/,
    /CONFIG_USER_NS/,
  ],
  [{ namespaces: { ...namespaces, max: 0 } }, 'namespaces', 'error', /max_user_namespaces is 0/, /sysctl -w user\.max/],
  [
    { namespaces: { ...namespaces, isCloneAllowed: false } },
    'namespaces',
    'error',
    /userns_clone is 0/,
    /userns_clone=1/,
  ],
  [
    { namespaces: { ...namespaces, isRestricted: true } },
    'namespaces',
    'error',
    /AppArmor/,
    /restrict_unprivileged_userns=0/,
  ],
  [
    { namespaces: { ...namespaces, error: 'Operation not permitted' } },
    'namespaces',
    'error',
    /not permitted/,
    /confines/,
  ],
  [
    { subordinate: { uids: 0, gids: 65_536 } },
    'subids',
    'error',
    /subuid has no range of alice/,
    /usermod --add-subuids/,
  ],
  [{ subordinate: { uids: 65_536, gids: 10 } }, 'subids', 'error', /subgid has 10 ids/, /--add-subgids/],
  [{ programs: new Set(['pasta']) }, 'subids', 'error', /no newuidmap and newgidmap/, /install uidmap$/],
  [
    { programs: new Set(['newuidmap', 'newgidmap']) },
    'network',
    'error',
    /no pasta and no slirp4netns/,
    /passt or slirp4netns/,
  ],
  [{ hasTun: false }, 'network', 'error', /tun is not there/, /modprobe tun/],
  [{ firstPort: 1024 }, 'network', 'warning', /below 1024 are root's/, /port_start=80/],
  [
    { overlayError: 'Operation not permitted' },
    'overlay',
    'error',
    /overlay in a user namespace/,
    /5\.11.*fuse-overlayfs/,
  ],
  [
    { overlayError: 'x', programs: new Set([...FITTING.programs, 'fuse-overlayfs']) },
    'overlay',
    'error',
    /dev\/fuse/,
    /modprobe fuse/,
  ],
  [{ cgroups: { ...cgroups, version: 1 } }, 'cgroups', 'error', /cgroup v1/, /unified_cgroup_hierarchy=1/],
  [{ cgroups: { version: 2, delegated: undefined } }, 'cgroups', 'error', /user@1000\.service/, /enable-linger alice/],
  [
    { cgroups: { version: 2, delegated: ['memory', 'pids'] } },
    'cgroups',
    'error',
    /no controller cpu, cpuset/,
    /Delegate=/,
  ],
];

for (const [facts, name, level, message, cure] of CASES)
  test(`${name}: ${String(message)}`, () => {
    const report = examineBy(ROOTLESS_CHECKS, { ...FITTING, ...facts });
    const found = report.checks.find((check) => check.name === name)!;
    assert.equal(found.level, level);
    assert.match(found.message, message);
    assert.match(found.cure ?? '', cure);
    for (const other of report.checks.filter((check) => check.name !== name))
      assert.equal(other.level, 'ok', other.name);
  });

test('fuse-overlayfs does for the overlay of the kernel', () => {
  const programs = new Set([...FITTING.programs, 'fuse-overlayfs']);
  const { level } = examineBy(ROOTLESS_CHECKS, { ...FITTING, overlayError: 'no', programs, hasFuse: true });
  assert.equal(level, 'ok');
});

test('ranges of ids are counted by name and number', () => {
  const text = 'bob:1:5\nalice:100000:65536\n1000:300000:10\n\nalice:x:y\n';
  assert.equal(subordinateIds(text, FITTING.user), 65_546);
  assert.equal(subordinateIds('', FITTING.user), 0);
});

test('unreadable facts count as absent', async () => {
  const { files, exec } = createSimPlatform();
  await files.makeDir('/etc');
  await files.writeFile('/etc/subuid', 'alice:1:65536\n');
  const facts = await readRootless({ files, exec }, FITTING.user);
  assert.equal(facts.subordinate.uids, 65_536);
  assert.equal(facts.subordinate.gids, 0);
  assert.equal(facts.namespaces.max, undefined);
  assert.equal(facts.cgroups.delegated, undefined);
  assert.equal(facts.firstPort, 1024);
});
