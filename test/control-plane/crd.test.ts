/**
 * Custom resources with an unmodified kubectl and @kubernetes/client-node: definitions, instances, explain, apply, patch, scale,
 * watch, and refusals with their texts. The rows of a group build on each other.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  type KubernetesListObject,
  type KubernetesObject,
} from '@kubernetes/client-node';
import { type ControlPlaneFixture, startControlPlane } from './control-plane-fixture.ts';
import { kubectlArguments, kubectlGroup } from './kubectl-rows-fixture.ts';
import { startWebhookServer } from './webhook-server.ts';

let plane: ControlPlaneFixture;

before(async () => {
  plane = await startControlPlane();
});
after(() => plane.stop());

const group = kubectlGroup(() => plane);

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1}
    selectableFields: [{jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        description: A thing of a certain size.
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: string, enum: [small, large], description: How big it is.}
              replicas: {type: integer, minimum: 0, maximum: 10, default: 1, x-kubernetes-validations: [{rule: 'self != 7', message: not seven}]}
              port: {x-kubernetes-int-or-string: true}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, port: {type: integer}}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}}}}
`;

function widget(name: string, spec: string): string {
  return `apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
}

group('a definition and its instances', () => [
  {
    run: 'create -f -',
    input: DEFINITION,
    out: 'customresourcedefinition.apiextensions.k8s.io/widgets.example.com created',
  },
  { run: 'wait --for=condition=Established crd/widgets.example.com --timeout=120s', out: /condition met/ },
  { run: 'api-resources --api-group=example.com --no-headers', out: /^widgets +wd +example\.com\/v1 +true +Widget$/ },
  { run: 'explain widget.spec', out: /size\t<string> -required-\n {2}enum: small, large\n {4}How big it is\./ },
  { run: 'explain widget --recursive', out: /replicas\t<integer>/ },
  { run: 'create -f -', input: widget('a', '{size: small, port: 80}'), out: 'widget.example.com/a created' },
  { run: 'get wd', out: /^NAME +SIZE +REPLICAS\na +small +1$/ },
  { run: 'get wd -o wide', out: /^NAME +SIZE +REPLICAS +READY\na +small +1 *$/ },
  { run: 'get all -o name', out: /widget\.example\.com\/a/ },
  { run: 'get wd --field-selector spec.size=small -o name', out: 'widget.example.com/a' },
  { run: 'get wd --field-selector spec.size=large -o name', out: '' },
  {
    run: 'get wd --field-selector spec.port=80',
    err: 'Error from server (BadRequest): Unable to find "example.com/v1, Resource=widgets" that match label selector "", field selector "spec.port=80": field label not supported: spec.port',
    code: 1,
  },
  { run: 'scale wd a --replicas=3', out: 'widget.example.com/a scaled' },
  { run: 'get wd a -o jsonpath={.spec.replicas}{.metadata.generation}', out: '32' },
  {
    run: 'patch wd a --type=merge --subresource=status -p {"status":{"replicas":2,"junk":1}}',
    err: 'Warning: unknown field "status.junk"',
    out: 'widget.example.com/a patched',
  },
  { run: 'get wd a -o jsonpath={.status}{.metadata.generation}', out: '{"replicas":2}2' },
  {
    run: 'patch wd a --type=json -p [{"op":"replace","path":"/spec/size","value":"large"}]',
    out: 'widget.example.com/a patched',
  },
  { run: 'label wd a x=y', out: 'widget.example.com/a labeled' },
  { run: 'get wd a -o jsonpath={.metadata.generation}', out: '3' },
]);

group('what is refused', () => [
  {
    run: 'create -f -',
    input: widget('bad', '{size: huge, replicas: 11}'),
    err: /^The Widget "bad" is invalid: \n\* spec\.replicas: Invalid value: 11: spec\.replicas in body should be less than or equal to 10\n\* spec\.size: Unsupported value: "huge": supported values: "small", "large"\n\* <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation$/,
    code: 1,
  },
  {
    run: 'create -f -',
    input: widget('bad', '{replicas: x}'),
    err: /spec\.replicas: Invalid value: "string": spec\.replicas in body must be of type integer: "string"/,
    code: 1,
  },
  {
    run: 'create --validate=false -f -',
    input: widget('bad', '{}'),
    err: /^The Widget "bad" is invalid: \n\* spec\.size: Required value\n\* <nil>: /,
    code: 1,
  },
  {
    run: 'create -f -',
    input: widget('bad', '{size: small, sise: 1}'),
    err: 'Error from server (BadRequest): error when creating "STDIN": Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "spec.sise"',
    code: 1,
  },
  {
    run: 'create --validate=warn -f -',
    input: widget('warned', '{size: small, sise: 1}'),
    err: 'Warning: unknown field "spec.sise"',
    out: 'widget.example.com/warned created',
  },
  {
    run: 'create -f -',
    input: widget('bad', '{size: small, ports: [{name: a}, {name: a}]}'),
    err: 'The Widget "bad" is invalid: spec.ports[1]: Duplicate value: {"name":"a"}',
    code: 1,
  },
  {
    run: 'scale wd a --replicas=7',
    err: 'The Widget "a" is invalid: spec.replicas: Invalid value: 7: not seven',
    code: 1,
  },
  {
    run: 'patch wd a -p {}',
    err: /^error: application\/strategic-merge-patch\+json is not supported by example\.com\/v1, Kind=Widget: the body of the request was in an unknown format/,
    code: 1,
  },
  {
    run: 'create -f -',
    input: DEFINITION.replace('type: object\n        description', 'description'),
    err: /openAPIV3Schema\.type: Required value: must not be empty at the root/,
    code: 1,
  },
]);

group('apply', () => [
  { run: 'apply -f -', input: widget('p', '{size: small}'), out: 'widget.example.com/p created' },
  { run: 'apply -f -', input: widget('p', '{size: small}'), out: 'widget.example.com/p unchanged' },
  { run: 'apply -f -', input: widget('p', '{size: large}'), out: 'widget.example.com/p configured' },
  { run: 'diff -f -', input: widget('p', '{size: small}'), out: /-  size: large\n\+  size: small/, code: 1 },
  {
    run: 'apply --server-side --field-manager=one -f -',
    input: widget('s', '{size: small, ports: [{name: a, port: 1}]}'),
    out: 'widget.example.com/s serverside-applied',
  },
  {
    run: 'apply --server-side --field-manager=two -f -',
    input: widget('s', '{size: small, ports: [{name: b, port: 2}]}'),
    out: 'widget.example.com/s serverside-applied',
  },
  { run: 'get wd s -o jsonpath={.spec.ports[*].name}', out: 'a b' },
  {
    run: 'apply --server-side --field-manager=two -f -',
    input: widget('s', '{size: large}'),
    err: /Apply failed with 1 conflict: conflict with "one": \.spec\.size/,
    code: 1,
  },
  {
    run: 'apply --server-side --field-manager=one -f -',
    input: widget('s', '{size: small}'),
    out: 'widget.example.com/s serverside-applied',
  },
  { run: 'get wd s -o jsonpath={.spec.ports[*].name}', out: 'b' },
  {
    run: 'apply --server-side --dry-run=server -f -',
    input: widget('dry', '{size: small}'),
    out: 'widget.example.com/dry serverside-applied (server dry run)',
  },
  { run: 'get wd dry', err: 'Error from server (NotFound): widgets.example.com "dry" not found', code: 1 },
]);

test('watches and informers of @kubernetes/client-node', async () => {
  const config = new KubeConfig();
  config.loadFromFile(plane.kubeconfig);
  const api = config.makeApiClient(CustomObjectsApi);
  const where = { group: 'example.com', version: 'v1', namespace: 'default', plural: 'widgets' };
  const seen: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const informer = makeInformer(
    config,
    '/apis/example.com/v1/namespaces/default/widgets',
    async () => (await api.listNamespacedCustomObject(where)) as KubernetesListObject<KubernetesObject>,
  );
  informer.on('add', ({ metadata }) => {
    seen.push(`add ${metadata?.name}`);
    if (metadata?.name === 'n') void api.deleteNamespacedCustomObject({ ...where, name: 'n' });
  });
  informer.on('delete', ({ metadata }) => {
    seen.push(`delete ${metadata?.name}`);
    resolve();
  });
  await informer.start();
  const body = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'n' }, spec: { size: 'small' } };
  await api.createNamespacedCustomObject({ ...where, body });
  await promise;
  await informer.stop();
  assert.deepEqual(seen.slice(-2), ['add n', 'delete n']);
});

group('a definition goes with its instances', () => [
  {
    run: 'delete crd widgets.example.com',
    out: 'customresourcedefinition.apiextensions.k8s.io "widgets.example.com" deleted',
  },
  {
    run: 'get widgets',
    err: 'Error from server (NotFound): Unable to list "example.com/v1, Resource=widgets": the server could not find the requested resource (get widgets.example.com)',
    code: 1,
  },
]);

interface Sized {
  readonly spec: { readonly size?: number; readonly dimensions?: { readonly size: number } };
}

test('a webhook converts versions, over TLS', async (t) => {
  const hooks = await startWebhookServer();
  t.after(() => hooks.close());
  hooks.on('/convert', ({ desiredAPIVersion, objects }: { desiredAPIVersion: string; objects: Sized[] }) => ({
    result: { status: 'Success' },
    convertedObjects: objects.map((object) => {
      const size = object.spec.size ?? object.spec.dimensions?.size;
      const spec = desiredAPIVersion.endsWith('/v1') ? { size } : { dimensions: { size } };
      return { ...object, apiVersion: desiredAPIVersion, spec };
    }),
  }));
  const schemaOf = (properties: object): object => ({
    openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties } } },
  });
  const size = { type: 'integer' };
  const boxes = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'boxes.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'boxes', kind: 'Box' },
      versions: [
        { name: 'v1', served: true, storage: false, schema: schemaOf({ size }) },
        {
          name: 'v2',
          served: true,
          storage: true,
          schema: schemaOf({ dimensions: { type: 'object', properties: { size } } }),
        },
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          clientConfig: { url: `https://127.0.0.1:${hooks.port}/convert`, caBundle: hooks.caBundle },
          conversionReviewVersions: ['v1'],
        },
      },
    },
  };
  const run = async (line: string, input?: object): Promise<string> => {
    const { code, stdout, stderr } = await plane.kubectl(kubectlArguments(line), input && JSON.stringify(input));
    assert.equal(code, 0, stderr);
    return stdout;
  };
  await run('create -f -', boxes);
  await run('wait --for=condition=Established crd/boxes.example.com --timeout=120s');
  await run('create -f -', { apiVersion: 'example.com/v1', kind: 'Box', metadata: { name: 'b' }, spec: { size: 3 } });
  assert.equal(await run('get boxes.v2.example.com b -o jsonpath={.spec}'), '{"dimensions":{"size":3}}');
  assert.equal(await run('get boxes.v1.example.com -o jsonpath={.items[*].spec}'), '{"size":3}');
  await run('patch boxes.v1.example.com b --type=merge -p {"spec":{"size":4}}');
  assert.equal(await run('get boxes.v2.example.com b -o jsonpath={.spec}'), '{"dimensions":{"size":4}}');
  await run('delete crd boxes.example.com');
});
