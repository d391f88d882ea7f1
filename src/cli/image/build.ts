/** `keelson image build`: builds with one of this machine's builders and loads the result into the node's runtime. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errorMessage } from '../../base/errors.ts';
import type { Images } from '../../cluster/images/machine-images.ts';
import { wholeName } from '../../cri/images/image-name.ts';
import { UserError } from '../usage-error.ts';
import { loadText } from './with-machine-images.ts';

/** In the order in which they are tried. */
export const BUILDERS = ['buildctl', 'docker', 'podman'] as const;
type Builder = (typeof BUILDERS)[number];

export interface BuildOptions {
  readonly context: string;
  readonly tag: string;
  readonly file?: string;
  readonly buildArg?: readonly string[];
  readonly target?: string;
  readonly builder?: Builder;
}

/** Builds and loads; resolves to lines about the image. The builder's own output goes to stderr. */
export async function buildImage(images: Images, options: BuildOptions): Promise<string> {
  const builder = options.builder ?? BUILDERS.find(isUsable);
  if (builder === undefined)
    throw new UserError(
      `no builder on this machine: install one of ${BUILDERS.join(', ')} (Debian: podman), or bring an archive by keelson image load`,
    );
  const file = options.file === undefined ? join(options.context, 'Dockerfile') : options.file;
  if (!existsSync(file)) throw new UserError(`${file} is not there; name the Dockerfile by --file`);
  if (builder === 'buildctl') return buildByBuildctl(images, { ...options, file });
  // Podman would call app:1 localhost/app:1, and pods would not find it.
  const tag = builder === 'podman' ? wholeName(options.tag) : options.tag;
  await run(builder, ['build', '--tag', tag, '--file', file, ...sharedArgs(options), options.context]);
  return loadText(images, `${builder}:${tag}`);
}

/** Whether its program is installed and, for the client of a daemon, the daemon's socket exists. */
function isUsable(builder: Builder): boolean {
  const there = (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, builder)));
  if (!there) return false;
  const { BUILDKIT_HOST, DOCKER_HOST } = process.env;
  if (builder === 'buildctl') return BUILDKIT_HOST !== undefined || existsSync('/run/buildkit/buildkitd.sock');
  return builder === 'podman' || DOCKER_HOST !== undefined || existsSync('/var/run/docker.sock');
}

function sharedArgs({ buildArg = [], target }: BuildOptions): string[] {
  return [...buildArg.flatMap((each) => ['--build-arg', each]), ...(target === undefined ? [] : ['--target', target])];
}

/** BuildKit writes an archive itself, without a second store. */
async function buildByBuildctl(images: Images, options: BuildOptions & { readonly file: string }): Promise<string> {
  const { context, file, tag, buildArg = [], target } = options;
  const opts = [
    `filename=${basename(file)}`,
    ...buildArg.map((each) => `build-arg:${each}`),
    ...(target === undefined ? [] : [`target=${target}`]),
  ];
  const args = [
    ...['build', '--frontend', 'dockerfile.v0', '--local', `context=${resolve(context)}`],
    ...['--local', `dockerfile=${dirname(resolve(file))}`, ...opts.flatMap((each) => ['--opt', each])],
    ...['--output', `type=oci,name=${tag}`],
  ];
  const child = spawn('buildctl', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = exitOf(child, 'buildctl');
  ended.catch(() => undefined); // awaited below
  try {
    const { images: loaded } = await images.load(child.stdout, { name: tag });
    await ended;
    return loaded.map(({ name }) => `loaded ${name}\n`).join('');
  } catch (error) {
    await ended; // the builder's own messages come first
    throw new UserError(errorMessage(error), 1, { cause: error });
  }
}

async function run(program: string, args: readonly string[]): Promise<void> {
  await exitOf(spawn(program, args, { stdio: ['ignore', process.stderr, 'inherit'] }), program);
}

function exitOf(child: ReturnType<typeof spawn>, program: string): Promise<void> {
  return new Promise((done, reject) => {
    child.on('error', (error) => reject(new UserError(`${program} cannot be run: ${error.message}`)));
    child.on('close', (code) => (code === 0 ? done() : reject(new UserError(`${program} failed (exit ${code})`))));
  });
}
