/** Creates the API server's authorizers from its flags and their files. */
import {
  type ConfiguredAuthorizer,
  type ConfiguredWebhook,
  readAuthorizationConfig,
} from '../../apiserver/authz/authorization-config.ts';
import type { Authorizer } from '../../apiserver/authz/contract.ts';
import { createWebhookAuthorizer } from '../../apiserver/authz/webhook-authorizer.ts';
import type { AuthorizationMode, AuthorizationOptions } from '../../apiserver/options/authorization-options.ts';
import { followFile } from '../../apiserver/options/followed-file.ts';
import type { WebhookClient } from '../../apiserver/webhook/webhook-client.ts';
import type { OptionFiles, SetupPlatform } from './option-files.ts';

export interface AuthorizationSetup {
  /** In order: built-in ones by name, webhooks as objects. */
  readonly authorizers: AuthorizerList;
  /** The authorizers of a configuration file, read for each request; a change of the file returns another list. */
  readonly authorizersNow?: () => AuthorizerList | Promise<AuthorizerList>;
}

interface AuthorizationDeps {
  readonly platform: SetupPlatform;
  readonly files: OptionFiles;
  readonly client: WebhookClient;
}

/** Built-in ones by name, others as objects. */
type AuthorizerList = readonly (BuiltInAuthorizer | Authorizer)[];

/** An authorizer without options. */
export type BuiltInAuthorizer = Exclude<AuthorizationMode, 'Webhook'>;

export async function loadAuthorization(
  deps: AuthorizationDeps,
  { modes, webhook, configFile }: AuthorizationOptions,
): Promise<AuthorizationSetup> {
  if (configFile !== undefined) return followAuthorizationConfig(deps, configFile);
  const flag = 'authorization-webhook-config-file';
  const chosen = modes.map((type): ConfiguredAuthorizer | BuiltInAuthorizer =>
    type === 'Webhook' ? webhookOf(webhook) : type,
  );
  return { authorizers: await makeAuthorizers(deps, chosen, flag) };
}

function makeAuthorizers(
  deps: AuthorizationDeps,
  chosen: readonly (ConfiguredAuthorizer | BuiltInAuthorizer)[],
  flag: string,
): Promise<AuthorizerList> {
  return Promise.all(
    chosen.map((one) => {
      if (typeof one === 'string') return one;
      return one.type === 'Webhook' ? webhookAuthorizer(deps, one, flag) : one.type;
    }),
  );
}

async function followAuthorizationConfig(deps: AuthorizationDeps, path: string): Promise<AuthorizationSetup> {
  const { platform, files } = deps;
  const flag = 'authorization-config';
  const { parseYaml } = await import('../../api/codec/yaml.ts');
  const parse = async (text: string): Promise<AuthorizerList> => {
    const chosen = await files.read(flag, path, () => readAuthorizationConfig(parseYaml(text).value));
    return makeAuthorizers(deps, chosen, flag);
  };
  const text = await files.text(flag, path);
  const authorizers = await parse(text);
  const { clock, log } = platform;
  const read = (): Promise<string> => platform.files.readText(path);
  const file = followFile(
    { clock, log: log.child('authorization'), what: 'the authorization configuration', read, parse },
    { text, value: authorizers },
  );
  return { authorizers, authorizersNow: () => file.now() };
}

async function webhookAuthorizer(
  { platform, files, client }: AuthorizationDeps,
  webhook: ConfiguredWebhook,
  flag: string,
): Promise<Authorizer> {
  const { clock, log } = platform;
  const { kubeConfigFile, conditions, name } = webhook;
  const target = await files.webhookTarget(flag, kubeConfigFile);
  const deps = { client: client, target, clock, log: log.child('authorization') };
  if (conditions.length === 0) return createWebhookAuthorizer(deps, webhook);
  const { compileWebhookConditions } = await import('../../apiserver/authz/webhook-conditions.ts');
  const concerns = await files.read(flag, name, () => compileWebhookConditions(conditions));
  return createWebhookAuthorizer(deps, { ...webhook, concerns });
}

/** The configuration of the webhook in the flags. */
function webhookOf(webhook: AuthorizationOptions['webhook']): ConfiguredWebhook {
  const { configFile: kubeConfigFile, allowedMs, deniedMs, version } = webhook!;
  const timeoutMs = 30_000;
  return {
    type: 'Webhook',
    name: '',
    kubeConfigFile,
    version,
    allowedMs,
    deniedMs,
    timeoutMs,
    onFailure: 'noOpinion',
    conditions: [],
  };
}
