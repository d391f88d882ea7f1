/** Authorization flags: the authorizers and their order. Upstream: kubeapiserver/options/authorization.go. */
import { choiceOf, durationMsOf, type Flag, type FlagValues, listOf, OptionsError, textOf } from './flags.ts';

/** Authorizers by name. */
export const AUTHORIZATION_MODES = ['Node', 'RBAC', 'Webhook', 'AlwaysAllow', 'AlwaysDeny'] as const;

export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

export const authorizationFlags: readonly Flag[] = [
  {
    name: 'authorization-config',
    value: '<file>',
    description: 'AuthorizationConfiguration: authorizers in order, webhooks among them; instead of the other flags',
  },
  {
    name: 'authorization-mode',
    value: '<modes>',
    description: `authorizers in order, of ${AUTHORIZATION_MODES.join(', ')} (default Node,RBAC)`,
    list: true,
  },
  {
    name: 'authorization-webhook-config-file',
    value: '<file>',
    description: 'kubeconfig of a SubjectAccessReview webhook',
  },
  {
    name: 'authorization-webhook-cache-authorized-ttl',
    value: '<duration>',
    description: 'how long its consent is kept (default 5m)',
  },
  {
    name: 'authorization-webhook-cache-unauthorized-ttl',
    value: '<duration>',
    description: 'how long its refusal is kept (default 30s)',
  },
  {
    name: 'authorization-webhook-version',
    value: '<version>',
    description: 'version of SubjectAccessReview that is sent to the webhook: v1beta1 (default) or v1',
  },
];

export interface AuthorizationOptions {
  readonly modes: readonly AuthorizationMode[];
  /** The configuration file, which replaces `modes` and `webhook`. */
  readonly configFile?: string;
  readonly webhook?: {
    readonly configFile: string;
    readonly allowedMs: number;
    readonly deniedMs: number;
    readonly version: 'v1beta1' | 'v1';
  };
}

const ALLOWED_MS = 300_000;
const DENIED_MS = 30_000;

// The default modes.
const DEFAULT_AUTHORIZATION_MODES: readonly AuthorizationMode[] = ['Node', 'RBAC'];

/** Checks the flags and completes them with defaults. Throws {@link OptionsError}. */
export function parseAuthorizationOptions(values: FlagValues): AuthorizationOptions {
  const config = textOf(values, 'authorization-config');
  if (config !== undefined) {
    const stray = authorizationFlags.find(({ name }) => name !== 'authorization-config' && values[name] !== undefined);
    if (stray !== undefined)
      throw new OptionsError(
        '--authorization-config: can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      );
    return { modes: [], configFile: config };
  }
  const configured = listOf(values, 'authorization-mode') ?? DEFAULT_AUTHORIZATION_MODES;
  if (configured.length === 0)
    throw new OptionsError('--authorization-mode: at least one authorization-mode must be passed');
  const modes = configured.map((name) => {
    const mode = AUTHORIZATION_MODES.find((one) => one === name);
    if (mode === undefined)
      throw new OptionsError(
        `--authorization-mode: ${name} is not a valid mode; there are ${AUTHORIZATION_MODES.join(', ')}`,
      );
    return mode;
  });
  if (new Set(modes).size < modes.length)
    throw new OptionsError(`--authorization-mode: ${configured.join(',')} has mode specified more than once`);
  const version = choiceOf(values, 'authorization-webhook-version', ['v1beta1', 'v1']);
  const configFile = textOf(values, 'authorization-webhook-config-file');
  if (modes.includes('Webhook') !== (configFile !== undefined))
    throw new OptionsError(
      '--authorization-webhook-config-file: goes with --authorization-mode=Webhook, and neither without the other',
    );
  if (configFile === undefined) return { modes };
  const allowedMs = durationMsOf(values, 'authorization-webhook-cache-authorized-ttl', ALLOWED_MS);
  const deniedMs = durationMsOf(values, 'authorization-webhook-cache-unauthorized-ttl', DENIED_MS);
  return { modes, webhook: { configFile, allowedMs, deniedMs, version } };
}
