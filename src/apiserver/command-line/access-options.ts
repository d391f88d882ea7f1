/** Who may do what: service-account tokens, anonymous requests, authorizers and admission plugins of upstream's names. */
import { FlagError, type OptionSet } from './flags.ts';

/** Authorizers in the order they are asked. */
export type AuthorizationMode = 'Node' | 'RBAC' | 'AlwaysAllow' | 'AlwaysDeny';

/** The settings. */
export interface AccessOptions {
  readonly authorizationModes: readonly AuthorizationMode[];
  readonly anonymousAuth: boolean;
  /** The first signs; all are accepted. */
  readonly serviceAccountIssuers: readonly string[];
  readonly serviceAccountKeyFiles: readonly string[];
  readonly serviceAccountSigningKeyFile?: string;
  /** Default: the issuers. */
  readonly apiAudiences?: readonly string[];
  readonly disabledAdmissionPlugins: readonly string[];
  readonly enabledAdmissionPlugins: readonly string[];
  /** Exactly these run (`--admission-control`). */
  readonly onlyAdmissionPlugins?: readonly string[];
  readonly featureGates: Readonly<Record<string, boolean>>;
}

const MODES: readonly AuthorizationMode[] = ['Node', 'RBAC', 'AlwaysAllow', 'AlwaysDeny'];

/** Authentication, authorization, admission, feature gates. */
export const accessOptions: OptionSet<AccessOptions> = {
  flags: [
    {
      name: 'authorization-mode',
      type: 'list',
      description: `authorizers in order, of ${MODES.join(', ')} (default AlwaysAllow)`,
    },
    {
      name: 'anonymous-auth',
      type: 'bool',
      description: 'whether requests without credentials are system:anonymous (default true)',
    },
    {
      name: 'service-account-issuer',
      type: 'list',
      description: 'issuer of service-account tokens; further ones are accepted',
    },
    { name: 'service-account-key-file', type: 'list', description: 'keys that verify service-account tokens' },
    { name: 'service-account-signing-key-file', type: 'string', description: 'key that signs service-account tokens' },
    { name: 'api-audiences', type: 'list', description: 'audiences of tokens for this API (default: the issuers)' },
    {
      name: 'enable-admission-plugins',
      type: 'list',
      description: 'admission plugins to run beside those that run by default',
    },
    { name: 'disable-admission-plugins', type: 'list', description: 'admission plugins that do not run' },
    {
      name: 'admission-control',
      type: 'list',
      description: 'exactly the admission plugins to run',
      deprecated:
        'Use --enable-admission-plugins or --disable-admission-plugins instead. Will be removed in a future version.',
    },
    { name: 'feature-gates', type: 'list', description: 'features to turn on or off, e.g. AllBeta=true' },
  ],
  read(values) {
    const modes = values.list('authorization-mode') ?? ['AlwaysAllow'];
    for (const mode of modes)
      if (!MODES.includes(mode as AuthorizationMode))
        throw new FlagError(
          `authorization-mode ${JSON.stringify(mode)} is not a valid mode; valid modes are: ${MODES.join(', ')}`,
        );
    if (new Set(modes).size < modes.length)
      throw new FlagError(`authorization-mode ${JSON.stringify(modes.join())} has mode specified more than once`);
    const serviceAccountSigningKeyFile = values.text('service-account-signing-key-file');
    const issuers = values.list('service-account-issuer') ?? [];
    if (issuers.length === 0) throw new FlagError('--service-account-issuer is a required flag');
    if (serviceAccountSigningKeyFile === undefined)
      throw new FlagError('--service-account-signing-key-file and --service-account-issuer are required flags');
    const only = values.list('admission-control');
    const enabled = values.list('enable-admission-plugins');
    const disabled = values.list('disable-admission-plugins');
    if (only !== undefined && (enabled !== undefined || disabled !== undefined))
      throw new FlagError(
        'admission-control and enable-admission-plugins/disable-admission-plugins flags are mutually exclusive',
      );
    const apiAudiences = values.list('api-audiences');
    return {
      authorizationModes: modes as readonly AuthorizationMode[],
      anonymousAuth: values.bool('anonymous-auth') ?? true,
      serviceAccountIssuers: issuers,
      serviceAccountKeyFiles: values.list('service-account-key-file') ?? [],
      serviceAccountSigningKeyFile,
      ...(apiAudiences !== undefined && { apiAudiences }),
      enabledAdmissionPlugins: enabled ?? [],
      disabledAdmissionPlugins: disabled ?? [],
      ...(only !== undefined && { onlyAdmissionPlugins: only }),
      featureGates: Object.fromEntries((values.list('feature-gates') ?? []).map(gate)),
    };
  },
};

function gate(text: string): [string, boolean] {
  const [name = '', value] = text.split('=');
  if (value !== 'true' && value !== 'false')
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--feature-gates" flag: invalid value of ${name}=${value ?? ''}, err: it is neither true nor false`,
    );
  return [name, value === 'true'];
}
