/**
 * Reads the files in the API server's options and creates its authenticators, authorizers, admission configuration
 * and audit. An error in a file is reported with its flag before anything starts.
 */
import { readAdmissionConfig } from '../../apiserver/admission/admission-config.ts';
import type { AdmissionConfig } from '../../apiserver/admission/list.ts';
import { type Auditor, createAuditor } from '../../apiserver/audit/auditor.ts';
import { createDelivery } from '../../apiserver/audit/delivery.ts';
import type { AuditBackend } from '../../apiserver/audit/event.ts';
import { createLogSink } from '../../apiserver/audit/log-sink.ts';
import { checkPolicy } from '../../apiserver/audit/policy.ts';
import { createWebhookSink } from '../../apiserver/audit/webhook-sink.ts';
import type { ApiServerOptions } from '../../apiserver/options/api-server-options.ts';
import type { AuditOptions } from '../../apiserver/options/audit-options.ts';
import type { TracingOptions } from '../../apiserver/options/tracing-options.ts';
import { createWebhookClient, type WebhookClient } from '../../apiserver/webhook/webhook-client.ts';
import type { WebhookTarget } from '../../apiserver/webhook/webhook-target.ts';
import type { ComponentTracing } from '../tracing/create-tracing.ts';
import { type AuthenticationSetup, loadAuthentication } from './authentication-setup.ts';
import { type AuthorizationSetup, loadAuthorization } from './authorization-setup.ts';
import { OptionFiles, type SetupPlatform } from './option-files.ts';

export interface ApiServerSetup extends AuthenticationSetup, AuthorizationSetup {
  readonly admission: { readonly plugins: readonly string[]; readonly config: AdmissionConfig };
  readonly auditor?: Auditor;
  /** Absent: requests are not traced. */
  readonly tracing?: ComponentTracing | undefined;
}

interface SetupServer {
  /** The audiences that tokens must have. */
  readonly audiences: readonly string[];
  /** Whether the server has the console in the browser. */
  readonly servesConsole: boolean;
}

/** Rejects with `PreflightError`. */
export async function loadApiServerSetup(
  platform: SetupPlatform,
  options: ApiServerOptions,
  { audiences, servesConsole }: SetupServer,
): Promise<ApiServerSetup> {
  const files = new OptionFiles(platform);
  const client = createWebhookClient(platform);
  return {
    admission: {
      plugins: options.admission.plugins,
      config: {
        ...(await loadAdmission(files, options.admission.configFile)),
        tolerationSeconds: options.admission.tolerationSeconds,
      },
    },
    ...(await loadAuthentication({ platform, files, client, audiences, servesConsole }, options.authentication)),
    ...(await loadAuthorization({ platform, files, client }, options.authorization)),
    ...(await loadAudit({ platform, files, client }, options.audit)),
    tracing: await loadTracing({ platform, files }, options.tracing),
  };
}

interface SetupDeps {
  readonly platform: SetupPlatform;
  readonly files: OptionFiles;
}

async function loadAdmission(files: OptionFiles, configFile: string | undefined): Promise<AdmissionConfig> {
  const flag = 'admission-control-config-file';
  if (configFile === undefined) return {};
  const value = await files.yaml(flag, configFile);
  const folder = configFile.slice(0, configFile.lastIndexOf('/') + 1);
  const placeOf = (path: string): string => (path.startsWith('/') ? path : folder + path);
  const read = (path: string): Promise<unknown> => files.yaml(flag, placeOf(path));
  const target = (path: string): Promise<WebhookTarget> => files.webhookTarget(flag, placeOf(path));
  return files.read(flag, configFile, () => readAdmissionConfig(value, read, target));
}

async function loadTracing(
  { platform, files }: SetupDeps,
  { configFile }: TracingOptions,
): Promise<ComponentTracing | undefined> {
  if (configFile === undefined) return undefined;
  const flag = 'tracing-config-file';
  const value = await files.yaml(flag, configFile);
  const { readTracingConfiguration } = await import('../../apiserver/tracing/read-tracing-configuration.ts');
  const settings = await files.read(flag, configFile, () => readTracingConfiguration(value));
  const { createTracing } = await import('../tracing/create-tracing.ts');
  const { hostname } = await platform.host.info();
  return createTracing(platform, settings, { 'service.name': 'apiserver', 'host.name': hostname });
}

async function loadAudit(
  { platform, files, client }: SetupDeps & { readonly client: WebhookClient },
  { policyFile, log: logOptions, webhook }: AuditOptions,
): Promise<Pick<ApiServerSetup, 'auditor'>> {
  if (policyFile === undefined) return {};
  const value = await files.yaml('audit-policy-file', policyFile);
  const policy = await files.read('audit-policy-file', policyFile, () => checkPolicy(value));
  const { clock, random } = platform;
  const log = platform.log.child('audit');
  const backends: AuditBackend[] = [];
  if (logOptions !== undefined)
    backends.push(
      createDelivery(
        { sink: createLogSink({ files: platform.files, clock }, logOptions), clock, log },
        logOptions.delivery,
      ),
    );
  if (webhook !== undefined) {
    const target = await files.webhookTarget('audit-webhook-config-file', webhook.configFile);
    const sink = createWebhookSink({ client: client, target, clock }, webhook.initialBackoffMs);
    backends.push(createDelivery({ sink, clock, log }, webhook.delivery));
  }
  return { auditor: createAuditor({ policy, backends, clock, random: random.fork('audit') }) };
}
