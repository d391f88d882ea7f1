/** Explains why admission webhooks fail, by the state of their services. */
import { MutatingWebhookConfigurations, ValidatingWebhookConfigurations } from '../../api/gen/resources.ts';
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '../../api/gen/admissionregistration-v1.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { backendCauses } from '../requests/webhook-backend.ts';

type Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

export function explainMutatingWebhooks(object: MutatingWebhookConfiguration, evidence: Evidence): Promise<Diagnosis> {
  return explainWebhooks(MutatingWebhookConfigurations, object, evidence);
}

export function explainValidatingWebhooks(
  object: ValidatingWebhookConfiguration,
  evidence: Evidence,
): Promise<Diagnosis> {
  return explainWebhooks(ValidatingWebhookConfigurations, object, evidence);
}

async function explainWebhooks(
  info: ResourceInfo,
  configuration: Configuration,
  evidence: Evidence,
): Promise<Diagnosis> {
  const hooks = configuration.webhooks ?? [];
  const causes: Cause[] = [];
  let isAsked = true;
  for (const { name, clientConfig, failurePolicy } of hooks) {
    if (clientConfig.url !== undefined) {
      isAsked = false;
      evidence.note(`the address of webhook ${name}, ${clientConfig.url}: whether it answers is not tried`);
    }
    const because = await backendCauses(clientConfig.service, evidence);
    if (because.length === 0) continue;
    const effect =
      failurePolicy === 'Ignore' ? 'what it concerns passes without it' : 'nothing that it concerns passes';
    const object = nameOfObject(info, configuration);
    causes.push(cause({ code: 'WebhookFails', object, message: `webhook ${name} has no server: ${effect}`, because }));
  }
  const summary = `asks ${hooks.length} ${hooks.length === 1 ? 'webhook' : 'webhooks'}`;
  const well = isAsked ? 'Fine' : 'Unknown';
  return { state: causes.length === 0 ? well : 'Trouble', summary, causes };
}
