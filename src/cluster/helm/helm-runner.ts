/**
 * Runs helm as a program of this machine: as a user of its own, with an empty environment, without a shell, in a
 * folder that is removed afterwards. Its only access to the cluster is a kubeconfig with the token of the chart's
 * service account. Upstream: the image rancher/klipper-helm, run as a pod.
 */
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { ExecResult } from '../../platform/exec.ts';
import type { Platform } from '../../platform/platform.ts';
import {
  isInterrupted,
  nextStep,
  releaseCommand,
  REPOSITORY,
  statusCommand,
  uninstallCommand,
  type HelmFiles,
  type ReleaseState,
} from './helm-commands.ts';
import { markFailed } from './interrupted-release.ts';
import type { ReleaseRequest } from './release-request.ts';

export interface HelmRunnerConfig {
  /** The parent of the runs' folders. Other users must be able to traverse it. */
  readonly folder: string;
  /** User and group of helm; undefined: those of this process, if it is not root. */
  readonly user: number | undefined;
  /** HTTP_PROXY and similar variables. */
  readonly proxies: Readonly<Record<string, string>>;
  kubeconfig(token: string): string;
}

export interface HelmRunnerDeps {
  readonly platform: Pick<Platform, 'exec' | 'files' | 'random'>;
  /** Repairs interrupted releases. */
  readonly client: Client;
  /** The path of helm. Rejects with a remedy when there is none. */
  program(signal: AbortSignal): Promise<string>;
}

/** The result of a run; `message` is for the user. */
export interface HelmOutcome {
  readonly ok: boolean;
  readonly message: string;
}

export interface HelmRunner {
  /** Installs or upgrades. Rejects only when the signal aborts. */
  release(request: ReleaseRequest, token: string, hash: string, signal: AbortSignal): Promise<HelmOutcome>;
  uninstall(request: ReleaseRequest, token: string, signal: AbortSignal): Promise<HelmOutcome>;
}

/** Helm's default timeout of a single operation. */
const DEFAULT_TIMEOUT_MS = 300_000;
/** Each hook may take the timeout; a run ends after this many timeouts. */
const OPERATIONS = 4;
const MAX_MESSAGE_LENGTH = 1_000;

/** The longest time of a timer. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The time limit of a run. */
export function runTimeoutMs({ timeoutMs = DEFAULT_TIMEOUT_MS }: Pick<ReleaseRequest, 'timeoutMs'>): number {
  return Math.min(OPERATIONS * timeoutMs + DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS);
}

export function createHelmRunner(deps: HelmRunnerDeps, config: HelmRunnerConfig): HelmRunner {
  const run = async (
    request: ReleaseRequest,
    token: string,
    signal: AbortSignal,
    work: (helm: HelmRun) => Promise<HelmOutcome>,
  ): Promise<HelmOutcome> => {
    const name = Buffer.from(deps.platform.random.bytes(8)).toString('hex');
    const helm = new HelmRun(deps, config, { folder: `${config.folder}/${name}`, request, token, signal });
    try {
      return await work(helm);
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, message: errorMessage(error).slice(0, MAX_MESSAGE_LENGTH) };
    } finally {
      await deps.platform.files.remove(`${config.folder}/${name}`, { mayChange: true });
    }
  };
  return {
    release: (request, token, hash, signal) => run(request, token, signal, (helm) => helm.release(hash)),
    uninstall: (request, token, signal) => run(request, token, signal, (helm) => helm.uninstall()),
  };
}

interface RunOptions {
  readonly folder: string;
  readonly request: ReleaseRequest;
  readonly token: string;
  readonly signal: AbortSignal;
}

class HelmRun {
  readonly #deps: HelmRunnerDeps;
  readonly #config: HelmRunnerConfig;
  readonly #options: RunOptions;
  #program = '';

  constructor(deps: HelmRunnerDeps, config: HelmRunnerConfig, options: RunOptions) {
    this.#deps = deps;
    this.#config = config;
    this.#options = options;
  }

  async release(hash: string): Promise<HelmOutcome> {
    const { request } = this.#options;
    const files = await this.#prepare();
    const state = await this.#state();
    const step = nextStep(state, request.failurePolicy);
    if (state !== undefined && isInterrupted(state)) await markFailed(this.#deps.client, request, this.#options.signal);
    if (step === 'abort')
      return {
        ok: false,
        message: `Release status is '${state?.status}' and failure policy is 'abort'; waiting for operator intervention`,
      };
    if (request.source.kind === 'repository') {
      const update = await this.#helm(['repo', 'update', REPOSITORY]);
      if (!update.ok) return update;
    }
    if (step === 'reinstall') {
      const removed = await this.#helm(uninstallCommand(request));
      if (!removed.ok) return removed;
    }
    const upgraded = step === 'upgrade' ? state : undefined;
    return await this.#helm(releaseCommand(request, files, { state: upgraded, hash }));
  }

  async uninstall(): Promise<HelmOutcome> {
    await this.#prepare();
    return await this.#helm(uninstallCommand(this.#options.request));
  }

  /** Writes helm's files, readable only for helm's user. */
  async #prepare(): Promise<HelmFiles> {
    const { folder, request, token, signal } = this.#options;
    this.#program = await this.#deps.program(signal);
    const { files } = this.#deps.platform;
    await files.makeDir(folder, { mode: 0o700 });
    const write = async (name: string, data: string | Uint8Array): Promise<string> => {
      const path = `${folder}/${name}`;
      await files.writeFile(path, data, { mode: 0o600 });
      await this.#give(path);
      return path;
    };
    await write('kubeconfig', this.#config.kubeconfig(token));
    const ca = request.caPem === '' ? undefined : await write('ca.pem', `${request.caPem}\n`);
    if (request.dockerConfig !== undefined) await write('registry.json', request.dockerConfig);
    await this.#writeRepository(write, ca);
    const values: string[] = [];
    for (const [name, text] of Object.entries(request.values)) values.push(await write(name, text));
    const { content } = request;
    const chart = content === undefined ? undefined : await write('chart.tgz', Buffer.from(content, 'base64'));
    // Last, since helm's user may change what it owns.
    await this.#give(folder);
    return { chart, values, ca };
  }

  async #writeRepository(
    write: (name: string, data: string) => Promise<string>,
    ca: string | undefined,
  ): Promise<void> {
    const { source, auth = {}, spec } = this.#options.request;
    if (source.kind !== 'repository') return;
    const { username, password, 'tls.crt': cert, 'tls.key': key } = auth;
    const hasPassword = username !== undefined && password !== undefined;
    const hasPair = !hasPassword && cert !== undefined && key !== undefined;
    const repository = {
      name: REPOSITORY,
      url: source.url,
      caFile: ca,
      username: hasPassword ? username : undefined,
      password: hasPassword ? password : undefined,
      certFile: hasPair ? await write('client.crt', cert) : undefined,
      keyFile: hasPair ? await write('client.key', key) : undefined,
      insecure_skip_tls_verify: spec.insecureSkipTLSVerify === true,
      pass_credentials_all: spec.authPassCredentials === true,
    };
    await write(
      'repositories.yaml',
      JSON.stringify({ apiVersion: '', generated: '0001-01-01T00:00:00Z', repositories: [repository] }),
    );
  }

  async #give(path: string): Promise<void> {
    const { user } = this.#config;
    if (user !== undefined) await this.#deps.platform.files.chown(path, user, user);
  }

  async #state(): Promise<ReleaseState | undefined> {
    const { exitCode, stdout, stderr } = await this.#exec(statusCommand(this.#options.request));
    if (exitCode !== 0) {
      if (/release: not found/.test(stderr)) return undefined;
      throw new Error(lastWords(stderr));
    }
    const answer = JSON.parse(stdout) as { info?: { status?: string }; apply_method?: string };
    return { status: answer.info?.status ?? 'unknown', applyMethod: answer.apply_method ?? '' };
  }

  async #helm(args: readonly string[]): Promise<HelmOutcome> {
    const { exitCode, stdout, stderr, timedOut } = await this.#exec(args);
    if (timedOut) return { ok: false, message: `helm ${args[0]} did not end in time` };
    return exitCode === 0 ? { ok: true, message: stdout } : { ok: false, message: lastWords(stderr || stdout) };
  }

  #exec(args: readonly string[]): Promise<ExecResult> {
    const { folder, request, signal } = this.#options;
    const env = {
      ...this.#config.proxies,
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: folder,
      KUBECONFIG: `${folder}/kubeconfig`,
      HELM_DRIVER: request.spec.driver ?? 'secret',
      HELM_CACHE_HOME: `${folder}/cache`,
      HELM_CONFIG_HOME: `${folder}/config`,
      HELM_DATA_HOME: `${folder}/data`,
      HELM_PLUGINS: `${folder}/none`,
      HELM_REGISTRY_CONFIG: `${folder}/registry.json`,
      HELM_REPOSITORY_CONFIG: `${folder}/repositories.yaml`,
    };
    return this.#deps.platform.exec.run(this.#program, args, {
      env,
      inheritsEnv: false,
      user: this.#config.user,
      cwd: folder,
      timeoutMs: runTimeoutMs(request),
      signal,
    });
  }
}

/** The last lines of helm's output without progress reports, which contain the error. */
function lastWords(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('level='));
  const error = lines.findLastIndex((line) => line.startsWith('Error: '));
  return (error < 0 ? lines.slice(-3) : lines.slice(error)).join('\n').slice(0, MAX_MESSAGE_LENGTH);
}
