/**
 * The pods that may use an image on the node: by policy, by the credentials of the pull, after a restart, and with damaged
 * records.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Secret } from '../../api/gen/core-v1.ts';
import { noSteps } from '../../component-helpers/pod-trace/step-scope.ts';
import { CriError } from '../../cri/cri-error.ts';
import { image } from '../../cri/sim/sim-image.ts';
import { createRuntimeFixture, podOf } from '../runtime/runtime-fixture.ts';
import type { ImageError } from './image-error.ts';
import { createImageManager } from './image-manager.ts';
import type { ImageNeed } from './image-need.ts';
import { allowlistComplaint, createPullVerification, type PullVerificationConfig } from './pull-verification.ts';

const PRIVATE = 'reg.example/team/app:1';
const DIRECTORY = '/var/kubelet/image_manager';

interface Asker {
  readonly namespace?: string;
  readonly secret?: { readonly name: string; readonly password: string; readonly uid?: string };
  readonly policy?: NonNullable<ImageNeed['container']['imagePullPolicy']>;
  readonly image?: string;
}

/** A registry that serves `reg.example` only to `right`, and other images to all. */
function setUp(config: Partial<PullVerificationConfig> = {}, present = false) {
  const fixture = createRuntimeFixture({ images: [image(PRIVATE, { present }), image('free', { present })] });
  const { platform, cri, world, drive } = fixture;
  let pulls = 0;
  /** Called once each: instead of the next look-up of an image, and before the next pull. */
  const hooks: { status?: typeof cri.images.imageStatus; pull?: () => void } = {};
  const take = <K extends keyof typeof hooks>(name: K): (typeof hooks)[K] => {
    const hook = hooks[name];
    delete hooks[name];
    return hook;
  };
  const images = {
    ...cri.images,
    imageStatus: (request: Parameters<typeof cri.images.imageStatus>[0]) =>
      (take('status') ?? cri.images.imageStatus)(request),
    pullImage: async (request: Parameters<typeof cri.images.pullImage>[0]) => {
      pulls++;
      const asked = request.image?.image ?? '';
      if (asked.startsWith('reg.example') && !request.auth?.password?.startsWith('right'))
        throw new CriError('Unknown', 'denied');
      take('pull')?.();
      return cri.images.pullImage({ image: { image: asked } });
    },
  };
  const start = () => {
    const verification = createPullVerification(
      { ...platform, images },
      { policy: 'NeverVerifyPreloadedImages', allowlist: [], directory: DIRECTORY, ...config },
    );
    const { clock, log } = platform;
    const recorder = { event: () => undefined };
    const deps = { images, clock, log, recorder, nodeDockerConfig: async () => undefined };
    const manager = createImageManager({ ...deps, verification }, {});
    let pods = 0;
    /** `present`, `pulled`, or why not. */
    const ask = async (asker: Asker = {}): Promise<string> => {
      const before = pulls;
      try {
        await drive(manager.ensureImageExists(needOf(asker, `pod-${pods++}`)));
      } catch (error) {
        return (error as ImageError).reason;
      }
      return pulls === before ? 'present' : 'pulled';
    };
    return { verification, ask };
  };
  return { ...start(), restart: start, platform, world, cri, drive, hooks };
}

function needOf({ namespace = 'team', secret, policy = 'IfNotPresent', image: name = PRIVATE }: Asker, uid: string) {
  const auth = JSON.stringify({ 'reg.example': { username: 'u', password: secret?.password } });
  const pullSecrets: Secret[] =
    secret === undefined
      ? []
      : [
          {
            metadata: { namespace, name: secret.name, uid: secret.uid ?? `uid-of-${namespace}-${secret.name}` },
            type: 'kubernetes.io/dockercfg',
            data: { '.dockercfg': Buffer.from(auth).toString('base64') },
          },
        ];
  const pod = podOf({ containers: [{ name: 'app', image: name }] }, { namespace, name: uid, uid });
  const container = { image: name, imagePullPolicy: policy };
  return { pod, container, target: pod, pullSecrets, trace: noSteps, signal: new AbortController().signal };
}

const right = { name: 'pull', password: 'right' };

describe('an image that was pulled with a secret', () => {
  const askers: [string, Asker, string][] = [
    ['the same secret', { secret: right }, 'present'],
    ['its credential by another name', { namespace: 'other', secret: { ...right, name: 'copy' } }, 'present'],
    ['the same secret with a new credential', { secret: { ...right, password: 'right-2' } }, 'present'],
    ['a secret of that name that was made anew', { secret: { ...right, uid: 'new', password: 'right-2' } }, 'pulled'],
    ['a wrong credential', { namespace: 'other', secret: { name: 'bad', password: 'wrong' } }, 'ErrImagePull'],
    ['nothing', {}, 'ErrImagePull'],
    ['nothing, and Never', { policy: 'Never' }, 'ErrImageNeverPull'],
    ['the same secret, and Never', { secret: right, policy: 'Never' }, 'present'],
    ['the same secret, and Always', { secret: right, policy: 'Always' }, 'pulled'],
  ];
  for (const [what, asker, expected] of askers)
    it(`is ${expected} for a pod with ${what}, also after a restart`, async () => {
      const { ask, restart } = setUp();
      assert.equal(await ask({ secret: right }), 'pulled');
      assert.equal(await restart().ask(asker), expected);
      assert.equal(
        await restart().ask({ secret: right }),
        'present',
        'nobody takes it away from whom it was pulled for',
      );
    });

  it('may be used with all credentials that were verified for it', async () => {
    const { ask, restart } = setUp();
    const later = { namespace: 'other', secret: { name: 'own', password: 'right-own' } };
    assert.deepEqual(
      [await ask({ secret: right }), await ask(later), await ask(later)],
      ['pulled', 'pulled', 'present'],
    );
    const rotated = { ...later, secret: { name: 'own', password: 'right-rotated' } };
    assert.equal(await ask(rotated), 'present');
    assert.equal(await restart().ask({ ...rotated, namespace: 'third' }), 'present', 'the new credential was noted');
  });
});

describe('which images are verified', () => {
  const free: Asker = { image: 'free' };
  const cases: [Partial<PullVerificationConfig>, string, boolean, Asker, string][] = [
    [{}, 'an image that was there before', true, {}, 'present'],
    [{}, 'an image pulled without credentials', false, free, 'present'],
    [{ policy: 'NeverVerify' }, 'an image pulled with a secret', false, {}, 'present'],
    [{ policy: 'AlwaysVerify' }, 'an image that was there before', true, {}, 'ErrImagePull'],
    [{ policy: 'AlwaysVerify' }, 'an image pulled without credentials', false, free, 'present'],
    [{ policy: 'AlwaysVerify' }, 'an open image that was there before', true, free, 'pulled'],
    [{ policy: 'NeverVerifyAllowlistedImages', allowlist: ['reg.example/*'] }, 'one on the list', true, {}, 'present'],
    [
      { policy: 'NeverVerifyAllowlistedImages', allowlist: ['reg.example/team/app'] },
      'one named on the list',
      false,
      {},
      'present',
    ],
    [
      { policy: 'NeverVerifyAllowlistedImages', allowlist: ['reg.example/te', 'reg.example/team/app/*'] },
      'one that is not on the list',
      true,
      {},
      'ErrImagePull',
    ],
  ];
  for (const [config, what, present, asker, expected] of cases)
    it(`${config.policy ?? 'NeverVerifyPreloadedImages'}: ${what} is ${expected}`, async () => {
      const { ask, restart } = setUp(config, present);
      if (!present) assert.equal(await ask({ secret: right, ...asker }), 'pulled');
      assert.equal(await restart().ask(asker), expected);
    });

  const patterns: [string, RegExp | undefined][] = [
    ['reg.example/team/app', undefined],
    ['reg.example/*', undefined],
    ['docker.io/library/nginx', undefined],
    ['nginx', /neither tag nor digest/],
    ['reg.example/app:1', /neither tag nor digest/],
    [' reg.example/app', /spaces are not allowed/],
    ['reg.example/*/app', /not a valid wildcard pattern/],
    ['', /too short/],
    ['/*', /at least registry hostname/],
    ['reg.example/Team', /failed to parse as an image name/],
  ];
  for (const [pattern, complaint] of patterns)
    it(`${JSON.stringify(pattern)} is ${complaint === undefined ? 'a pattern' : 'refused'}`, () =>
      complaint === undefined
        ? assert.equal(allowlistComplaint(pattern), undefined)
        : assert.match(allowlistComplaint(pattern) ?? '', complaint));
});

describe('records of pulls', () => {
  const record = (fixture: ReturnType<typeof setUp>, folder: 'pulled' | 'pulling'): Promise<string[]> =>
    fixture.platform.files.readDir(`${DIRECTORY}/${folder}`);

  it('are files in upstream’s format, the intent only while it pulls', async () => {
    const made = setUp();
    await made.ask({ secret: right });
    assert.deepEqual(await record(made, 'pulling'), []);
    const [name] = await record(made, 'pulled');
    const text = await made.platform.files.readText(`${DIRECTORY}/pulled/${name}`);
    const { imageRef, ...rest } = JSON.parse(text) as { imageRef: string };
    assert.equal(name, `sha256-${made.platform.crypto.sha256Hex(imageRef)}`);
    const credentialHash = made.platform.crypto.sha256Hex('{"username":"u","password":"right"}');
    assert.deepEqual(rest, {
      kind: 'ImagePulledRecord',
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      lastUpdatedTime: '2026-01-01T00:00:00Z',
      credentialMapping: {
        'reg.example/team/app': {
          kubernetesSecrets: [{ namespace: 'team', name: 'pull', uid: 'uid-of-team-pull', credentialHash }],
        },
      },
    });
    await made.ask({ namespace: 'other', secret: { name: 'bad', password: 'wrong' } });
    assert.deepEqual(await record(made, 'pulling'), [], 'a pull that failed leaves none');
  });

  it('of a pull whose end the kubelet did not see need verified credentials', async () => {
    const made = setUp({}, true);
    const { crypto, files } = made.platform;
    await files.makeDir(`${DIRECTORY}/pulling`);
    const intent = { kind: 'ImagePullIntent', apiVersion: 'kubelet.config.k8s.io/v1alpha1', image: PRIVATE };
    await files.writeFile(`${DIRECTORY}/pulling/sha256-${crypto.sha256Hex(PRIVATE)}`, JSON.stringify(intent));
    assert.equal(await made.ask(), 'ErrImagePull');
    assert.deepEqual(await record(made, 'pulling'), []);
    assert.equal(await made.restart().ask({ secret: right }), 'pulled');
    assert.equal(await made.ask({ image: 'free' }), 'present', 'the others are none of its business');
  });

  it('are kept of a pull after which the runtime does not answer', async () => {
    const made = setUp();
    made.hooks.pull = () => {
      made.hooks.status = () => Promise.reject(new CriError('Unavailable', 'away'));
    };
    assert.equal(await made.ask({ secret: right }), 'ErrImagePull');
    assert.deepEqual([await made.ask(), await made.restart().ask()], ['ErrImagePull', 'ErrImagePull']);
    assert.equal(await made.restart().ask({ secret: right }), 'present');
  });

  it('belong to the pulled image, not to the one of an earlier look-up', async () => {
    const made = setUp({}, true);
    const { clock, files } = made.platform;
    const [here] = (await made.cri.images.listImages({})).images.filter(({ repoTags }) => repoTags.includes(PRIVATE));
    let other: Promise<string> | undefined;
    made.hooks.pull = () => {
      made.hooks.status = async () => {
        await clock.sleep(1_000);
        return { info: {}, image: { ...here!, id: 'sha256:old' } };
      };
      other = made.ask();
    };
    assert.equal(await made.ask({ secret: right, policy: 'Always' }), 'pulled');
    await other;
    const [name] = await record(made, 'pulled');
    assert.match(await files.readText(`${DIRECTORY}/pulled/${name}`), new RegExp(`"imageRef":"${here!.id}"`));
  });

  it('that are damaged restrict the image to pods that can pull it', async () => {
    const made = setUp();
    await made.ask({ secret: right });
    const [name] = await record(made, 'pulled');
    await made.platform.files.writeFile(`${DIRECTORY}/pulled/${name}`, '{"kind":');
    const { ask } = made.restart();
    assert.deepEqual([await ask(), await ask({ secret: right })], ['ErrImagePull', 'pulled']);
    assert.equal(await made.restart().ask({ secret: right }), 'present', 'the pull has put it right');
  });

  it('that cannot be written let nothing be pulled', async () => {
    const made = setUp();
    await made.platform.files.makeDir('/var');
    await made.platform.files.writeFile('/var/kubelet', '');
    assert.equal(await made.ask({ secret: right }), 'ErrImagePull');
  });

  it('go with their images, but not when they are newer than the look at them', async () => {
    const made = setUp();
    const { clock } = made.platform;
    await made.ask({ secret: right });
    await made.verification.retain([], clock.nowMs());
    assert.equal((await record(made, 'pulled')).length, 1);
    await clock.advance(1_000);
    const ids = (await made.cri.images.listImages({})).images.map(({ id }) => id);
    await made.verification.retain(ids, clock.nowMs());
    assert.equal((await record(made, 'pulled')).length, 1);
    await made.verification.retain([], clock.nowMs());
    assert.deepEqual(await record(made, 'pulled'), []);
  });
});
