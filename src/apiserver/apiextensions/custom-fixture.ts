/** A server for custom resource definitions, and sample definitions: for tests of this folder only. */
import type { JSONSchemaProps } from '../../api/gen/apiextensions-v1.ts';
import type { ApiServerDeps } from '../api-server-contract.ts';
import { customResourceDefinitionDefinition } from '../registry/apiextensions/definition.ts';
import { startTestServer, testDefinitions, type TestServer } from '../server-fixture.ts';

/** Path of the definitions. */
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Path of the sample resource in the default namespace. */
export const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';

/** A version of the sample. */
export function versionOf(name: string, spec: JSONSchemaProps, more: object = {}): object {
  const openAPIV3Schema = { type: 'object', properties: { spec, status: { type: 'object', properties: {} } } };
  return { name, served: true, storage: true, schema: { openAPIV3Schema }, ...more };
}

/** `widgets.example.com`, with a schema for `spec`. */
export function widgetDefinition(spec: JSONSchemaProps, more: object = {}): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'], categories: ['all'] },
      versions: [versionOf('v1', spec)],
      ...more,
    },
  };
}

/** An instance of the sample. */
export function widget(name: string, spec: unknown, more: object = {}): object {
  return { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name }, spec, ...more };
}

export function startCustomServer(
  parts: Partial<Pick<ApiServerDeps, 'storage' | 'postConversionReview'>> = {},
): Promise<TestServer> {
  return startTestServer({ definitions: [...testDefinitions(), customResourceDefinitionDefinition], ...parts });
}

/** Waits until the server's loop is idle. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
}

/** A server with the sample established. */
export async function startWithWidgets(spec: JSONSchemaProps, more: object = {}): Promise<TestServer> {
  const server = await startCustomServer();
  const { status, text } = await server.send('POST', DEFINITIONS, widgetDefinition(spec, more));
  if (status !== 201) throw new Error(text);
  await settle();
  return server;
}
