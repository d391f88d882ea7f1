/**
 * MutatingAdmissionWebhook: calls the mutating webhooks one after the other, applies their JSON patches to the draft,
 * and calls those with reinvocationPolicy IfNeeded again when the object changed after them. Upstream:
 * admission/plugin/webhook/mutating.
 */
import { equal, jsonPatch } from '../../../api/patch/json-patch.ts';
import { PatchError } from '../../../api/patch/patch-error.ts';
import { DecodeError } from '../../../api/codec/typed.ts';
import type { AdmissionResponse } from '../../../api/gen/admission-v1.ts';
import { MutatingWebhookConfigurations } from '../../../api/gen/resources.ts';
import { asWritten } from '../../../api/codec/written-form.ts';
import { parseClientJson } from '../../../api/codec/parts.ts';
import type { JsonObject } from '../../../api/codec/own-property.ts';
import { internalError } from '../../../api/status-error.ts';
import type { ResolveService } from '../../webhook/service-resolver.ts';
import { LARGE_BYTES } from '../../request-context.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { reviewedObjects } from './admission-review.ts';
import { callWebhook, failsOpen, type WebhookAdmissionDeps } from './call-webhook.ts';
import { CallingWebhookError, webhookRefusal } from './denial.ts';
import { type Invocation, invocationOf } from './invocation.ts';
import { reviewObjects, type ReviewObjects } from '../../admission-matching/review-objects.ts';
import { isAdmissionConfiguration } from '../../admission-matching/rules-matcher.ts';
import { type ConfiguredWebhook, followWebhooks, WEBHOOKS_PER_TURN } from './webhook-configurations.ts';

const NAME = 'MutatingAdmissionWebhook';

/** The size limit of a client's patch. */
const MAX_PATCH_CHARS = 3 * 1024 * 1024;

/** What the first pass remembers for the second, in which webhooks are reinvoked. */
interface Memory {
  /** Webhooks with reinvocationPolicy IfNeeded that have been called. */
  readonly asked: Set<string>;
  /** Webhooks to call again, because the object has changed since. */
  readonly again: Set<string>;
  /** The draft after the last call. */
  after: unknown;
}

export function createMutatingWebhooks(deps: WebhookAdmissionDeps, resolve: ResolveService): AdmissionPlugin {
  let webhooks: (() => readonly ConfiguredWebhook[]) | undefined;
  const current = (): readonly ConfiguredWebhook[] =>
    (webhooks ??= followWebhooks(deps.objects(), MutatingWebhookConfigurations, resolve))();
  return {
    name: NAME,
    handles: (_operation, resource) => !isAdmissionConfiguration(resource),
    isIdle: () => current().length === 0,
    mutate: (attributes) => mutate(deps, attributes, current()),
  };
}

async function mutate(
  deps: WebhookAdmissionDeps,
  attributes: AdmissionAttributes,
  webhooks: readonly ConfiguredWebhook[],
): Promise<void> {
  const { reinvocation } = attributes;
  const memory = memoryOf(attributes);
  if (reinvocation.round === 1 && !equal(memory.after, attributes.object)) reinvoke(memory);
  for (const [index, webhook] of webhooks.entries()) {
    if (index % WEBHOOKS_PER_TURN === WEBHOOKS_PER_TURN - 1) await attributes.context.pause?.();
    const invocation = await invocationOf(webhook, attributes, deps);
    if (invocation === undefined || (reinvocation.round === 1 && !memory.again.has(webhook.uid))) continue;
    const view = reviewObjects(invocation.requested, invocation.matched, attributes.subresource);
    if (!(await conditionsHold(deps, { invocation, attributes, view }))) continue;
    const changed = await callMutatingHook(deps, { invocation, attributes, view, index });
    if (changed) {
      reinvoke(memory);
      reinvocation.wanted = true;
    }
    if (webhook.hook.reinvocationPolicy === 'IfNeeded') memory.asked.add(webhook.uid);
  }
  memory.after = attributes.object === undefined ? undefined : structuredClone(attributes.object);
}

function memoryOf({ reinvocation }: AdmissionAttributes): Memory {
  let memory = reinvocation.memory.get(NAME) as Memory | undefined;
  if (memory === undefined) {
    memory = { asked: new Set(), again: new Set(), after: undefined };
    reinvocation.memory.set(NAME, memory);
  }
  return memory;
}

function reinvoke(memory: Memory): void {
  for (const uid of memory.asked) memory.again.add(uid);
  memory.asked.clear();
}

interface WebhookInvocation {
  readonly invocation: Invocation;
  readonly attributes: AdmissionAttributes;
  readonly view: ReviewObjects;
}

async function conditionsHold(deps: WebhookAdmissionDeps, asking: WebhookInvocation): Promise<boolean> {
  const { invocation, attributes } = asking;
  if ((invocation.webhook.hook.matchConditions ?? []).length === 0) return true;
  return await deps.matchConditions(invocation, attributes);
}

/** Whether the webhook changed the object. */
async function callMutatingHook(
  deps: WebhookAdmissionDeps,
  asking: WebhookInvocation & { readonly index: number },
): Promise<boolean> {
  const { invocation, attributes, index } = asking;
  const { context, reinvocation } = attributes;
  const { configuration, hook } = invocation.webhook;
  const key = `round_${reinvocation.round}_index_${index}`;
  const note = (mutated: boolean): void =>
    context.addAuditAnnotation(
      `mutation.webhook.admission.k8s.io/${key}`,
      JSON.stringify({ configuration, webhook: hook.name, mutated }),
    );
  try {
    const reviewed = await reviewedObjects(asking.view, attributes);
    const response = await callWebhook(deps, { ...asking, reviewed, mutating: true });
    const changed = await applyPatch(asking, reviewed.object, response);
    note(changed);
    if (changed && response.patch !== undefined) recordPatch(asking, key, response.patch);
    return changed;
  } catch (error) {
    note(false);
    if (failsOpen(deps, invocation, error)) {
      context.addAuditAnnotation(`failed-open.mutation.webhook.admission.k8s.io/${key}`, hook.name);
      return false;
    }
    throw webhookRefusal(error, invocation.webhook, true);
  }
}

function recordPatch({ invocation, attributes }: WebhookInvocation, key: string, patch: string): void {
  const { configuration, hook } = invocation.webhook;
  const value = `{"configuration":${JSON.stringify(configuration)},"webhook":${JSON.stringify(hook.name)},"patch":${decodePatch(patch)},"patchType":"JSONPatch"}`;
  attributes.context.addAuditAnnotation(`patch.webhook.admission.k8s.io/${key}`, value);
}

function decodePatch(patch: string): string {
  return Buffer.from(patch, 'base64').toString('utf8');
}

async function applyPatch(
  { invocation, attributes, view }: WebhookInvocation,
  before: JsonObject | undefined,
  { patch = '', patchType }: AdmissionResponse,
): Promise<boolean> {
  const { name } = invocation.webhook.hook;
  if (patch === '') return false;
  if (patchType !== 'JSONPatch')
    throw new CallingWebhookError(name, `unsupported patch type ${JSON.stringify(patchType)}`);
  const operations = parsePatch(patch);
  if (Array.isArray(operations) && operations.length === 0) return false;
  if (before === undefined || attributes.object === undefined)
    throw internalError(
      `admission webhook ${JSON.stringify(name)} attempted to modify the object, which is not supported for this operation`,
    );
  const { context } = attributes;
  if (patch.length > LARGE_BYTES) context.isLarge = true;
  const pause = async (): Promise<void> => {
    if (context.isLarge === true) await context.pause?.();
  };
  await pause();
  const patched = jsonPatchOf(before, operations);
  await pause();
  const after = decodedBy(view, patched);
  await pause();
  if (equal(before, asWritten(after))) return false;
  await pause();
  await view.store(after, attributes.object);
  await pause();
  return true;
}

function parsePatch(patch: string): unknown {
  try {
    const text = decodePatch(patch);
    if (text.length > MAX_PATCH_CHARS) throw new Error(`the patch has more than ${MAX_PATCH_CHARS} characters`);
    return parseClientJson(text).value;
  } catch (error) {
    throw internalError((error as Error).message, error);
  }
}

function jsonPatchOf(before: JsonObject, operations: unknown): unknown {
  try {
    return jsonPatch(before, operations);
  } catch (error) {
    throw error instanceof PatchError ? internalError(error.message, error) : error;
  }
}

function decodedBy(view: ReviewObjects, object: unknown): JsonObject {
  try {
    return view.decode(object);
  } catch (error) {
    throw error instanceof DecodeError ? internalError(error.message, error) : error;
  }
}
