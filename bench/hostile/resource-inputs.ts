// Objects of other kinds whose validation, defaulting or compilation costs more than their size suggests.
import { fill, list, type HostileInput, type HostileRequest } from './bodies.ts';

const post = (path: string, body: string): HostileRequest => ({
  method: 'POST',
  path: `${path}?dryRun=All`,
  type: 'application/json',
  body,
});

const start = (apiVersion: string, kind: string, rest: string): string =>
  `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"a"},${rest}`;

const podStart = (rest: string): string => start('v1', 'Pod', `"spec":{${rest}`);
const CONTAINER = '"containers":[{"name":"a","image":"a"';

const pods: Readonly<Record<string, () => string>> = {
  'empty containers': () => list(() => '{}', [podStart('"containers":['), ']}}']),
  containers: () => list((i) => `{"name":"c${i}","image":"a"}`, [podStart('"containers":['), ']}}']),
  volumes: () => list((i) => `{"name":"v${i}"}`, [podStart(`${CONTAINER}}],"volumes":[`), ']}}']),
  ports: () =>
    list((i) => `{"containerPort":${(i % 60_000) + 1},"hostPort":1}`, [podStart(`${CONTAINER},"ports":[`), ']}]}}']),
  environment: () => list((i) => `{"name":"e${i}"}`, [podStart(`${CONTAINER},"env":[`), ']}]}}']),
  'equal environment': () => list(() => '{"name":"e"}', [podStart(`${CONTAINER},"env":[`), ']}]}}']),
  mounts: () => list((i) => `{"name":"a","mountPath":"/${i}"}`, [podStart(`${CONTAINER},"volumeMounts":[`), ']}]}}']),
  tolerations: () => list(() => '{}', [podStart(`${CONTAINER}}],"tolerations":[`), ']}}']),
  'spread constraints': () =>
    list(
      (i) => `{"maxSkew":1,"topologyKey":"t${i}","whenUnsatisfiable":"DoNotSchedule"}`,
      [podStart(`${CONTAINER}}],"topologySpreadConstraints":[`), ']}}'],
    ),
  'affinity terms': () =>
    list(
      (i) => `{"matchExpressions":[{"key":"k${i}","operator":"In","values":["a"]}]}`,
      [
        podStart(
          `${CONTAINER}}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[`,
        ),
        ']}}}}}',
      ],
    ),
  'host aliases': () => list(() => '{"ip":"1.1.1.1"}', [podStart(`${CONTAINER}}],"hostAliases":[`), ']}}']),
  'scheduling gates': () => list((i) => `{"name":"g${i}"}`, [podStart(`${CONTAINER}}],"schedulingGates":[`), ']}}']),
  'image pull secrets': () => list((i) => `{"name":"g${i}"}`, [podStart(`${CONTAINER}}],"imagePullSecrets":[`), ']}}']),
  'resource claims': () =>
    list((i) => `{"name":"g${i}","resourceClaimName":"a"}`, [podStart(`${CONTAINER}}],"resourceClaims":[`), ']}}']),
  'a quantity of digits': () => podStart(`${CONTAINER},"resources":{"limits":{"cpu":"${fill('9', 2_900_000)}"}}}]}}`),
  'a quantity of a fraction': () =>
    podStart(`${CONTAINER},"resources":{"limits":{"cpu":"0.${fill('9', 2_900_000)}"}}}]}}`),
  'a quantity of an exponent': () => podStart(`${CONTAINER},"resources":{"limits":{"cpu":"1e999999999"}}}]}}`),
  limits: () => list((i) => `"a/r${i}":"1"`, [podStart(`${CONTAINER},"resources":{"limits":{`), '}}}]}}']),
  'environment references': () => podStart(`${CONTAINER},"command":["${fill('$(', 2_900_000)}"]}]}}`),
  'an image of slashes': () => podStart(`"containers":[{"name":"a","image":"${fill('a/', 2_900_000)}"}]}}`),
  'a name of hyphens': () => podStart(`"containers":[{"name":"${fill('a-', 2_900_000)}","image":"a"}]}}`),
};

const others: Readonly<Record<string, readonly [path: string, () => string]>> = {
  'network policy peers': [
    '/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies',
    () =>
      list(
        () => '{"ipBlock":{"cidr":"0.0.0.0/0","except":["1.1.1.1/32"]}}',
        [start('networking.k8s.io/v1', 'NetworkPolicy', '"spec":{"podSelector":{},"ingress":[{"from":['), ']}]}}'],
      ),
  ],
  'network policy exceptions': [
    '/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies',
    () =>
      list(
        () => '"1.1.1.1/32"',
        [
          start(
            'networking.k8s.io/v1',
            'NetworkPolicy',
            '"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"0.0.0.0/0","except":[',
          ),
          ']}}]}]}}',
        ],
      ),
  ],
  'an address of zeros': [
    '/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies',
    () =>
      `${start('networking.k8s.io/v1', 'NetworkPolicy', '"spec":{"podSelector":{},"ingress":[{"from":[{"ipBlock":{"cidr":"')}${fill('0:', 2_900_000)}/0"}}]}]}}`,
  ],
  'endpoint slice': [
    '/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices',
    () =>
      list(
        () => '{"addresses":["1.1.1.1"]}',
        [start('discovery.k8s.io/v1', 'EndpointSlice', '"addressType":"IPv4","endpoints":['), ']}'],
      ),
  ],
  endpoints: [
    'endpoints',
    () => list(() => '{"addresses":[{"ip":"1.1.1.1"}]}', [start('v1', 'Endpoints', '"subsets":['), ']}']),
  ],
  'endpoint addresses': [
    'endpoints',
    () =>
      list(
        (i) => `{"ip":"1.1.${(i >> 8) % 256}.${i % 256}"}`,
        [start('v1', 'Endpoints', '"subsets":[{"ports":[{"port":1}],"addresses":['), ']}]}'],
      ),
  ],
  'service ports': [
    'services',
    () =>
      list((i) => `{"name":"p${i}","port":${(i % 60_000) + 1}}`, [start('v1', 'Service', '"spec":{"ports":['), ']}}']),
  ],
  'resource slice': [
    '/apis/resource.k8s.io/v1/resourceslices',
    () =>
      list(
        (i) => `{"name":"d${i}"}`,
        [
          start(
            'resource.k8s.io/v1',
            'ResourceSlice',
            '"spec":{"driver":"a","nodeName":"n","pool":{"name":"p","generation":1,"resourceSliceCount":1},"devices":[',
          ),
          ']}}',
        ],
      ),
  ],
  'role rules': [
    '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles',
    () =>
      list(
        (i) => `{"apiGroups":["g${i}"],"resources":["a"],"verbs":["get"]}`,
        [start('rbac.authorization.k8s.io/v1', 'Role', '"rules":['), ']}'],
      ),
  ],
  'role verbs': [
    '/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles',
    () =>
      list(
        (i) => `"v${i}"`,
        [
          start('rbac.authorization.k8s.io/v1', 'Role', '"rules":[{"apiGroups":["a"],"resources":["a"],"verbs":['),
          ']}]}',
        ],
      ),
  ],
  'a schedule of commas': [
    '/apis/batch/v1/namespaces/{}/cronjobs',
    () =>
      start(
        'batch/v1',
        'CronJob',
        `"spec":{"schedule":"${fill('1,', 2_000_000)}1 * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}}}`,
      ),
  ],
  'a schedule of digits': [
    '/apis/batch/v1/namespaces/{}/cronjobs',
    () =>
      start(
        'batch/v1',
        'CronJob',
        `"spec":{"schedule":"*/${fill('9', 2_000_000)} * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"a"}]}}}}}}`,
      ),
  ],
  'secret of base64': ['secrets', () => start('v1', 'Secret', `"data":{"a":"${fill('AAAA', 2_900_000)}"}}`)],
  'secret of bad base64': ['secrets', () => start('v1', 'Secret', `"data":{"a":"${fill('A=', 2_900_000)}"}}`)],
  'secret of small values': ['secrets', () => list((i) => `"k${i}":"AA=="`, [start('v1', 'Secret', '"data":{'), '}}'])],
  'an access review of a long name': [
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    () =>
      start(
        'authorization.k8s.io/v1',
        'SelfSubjectAccessReview',
        `"spec":{"resourceAttributes":{"verb":"get","resource":"${fill('a', 2_900_000)}"}}}`,
      ),
  ],
  'an access review of groups': [
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    () =>
      list(
        (i) => `"g${i}"`,
        [
          start(
            'authorization.k8s.io/v1',
            'SubjectAccessReview',
            '"spec":{"user":"a","resourceAttributes":{"verb":"get","resource":"a"},"groups":[',
          ),
          ']}}',
        ],
      ),
  ],
  'an access review of selector requirements': [
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    () =>
      list(
        (i) => `{"key":"k${i}","operator":"Exists"}`,
        [
          start(
            'authorization.k8s.io/v1',
            'SelfSubjectAccessReview',
            '"spec":{"resourceAttributes":{"verb":"list","resource":"pods","labelSelector":{"requirements":[',
          ),
          ']}}}}',
        ],
      ),
  ],
  'certificate request of a large PEM': [
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    () =>
      start(
        'certificates.k8s.io/v1',
        'CertificateSigningRequest',
        `"spec":{"signerName":"a.b/c","usages":["client auth"],"request":"${Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----\n${fill('MIIB', 2_000_000)}\n-----END CERTIFICATE REQUEST-----\n`).toString('base64')}"}}`,
      ),
  ],
  'certificate request of nested DER': [
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    () => {
      let der = Buffer.alloc(0);
      const heads: Buffer[] = [];
      for (let length = 0; length < 500_000;) {
        const head =
          length < 128
            ? Buffer.from([0x30, length])
            : Buffer.from([0x30, 0x83, length >> 16, (length >> 8) & 255, length & 255]);
        heads.push(head);
        length += head.length;
      }
      der = Buffer.concat(heads.reverse());
      const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
      return start(
        'certificates.k8s.io/v1',
        'CertificateSigningRequest',
        `"spec":{"signerName":"a.b/c","usages":["client auth"],"request":"${Buffer.from(pem).toString('base64')}"}}`,
      );
    },
  ],
  'token request of audiences': [
    'serviceaccounts/default/token',
    () => list((i) => `"a${i}"`, [start('authentication.k8s.io/v1', 'TokenRequest', '"spec":{"audiences":['), ']}}']),
  ],
  'token review of a large token': [
    '/apis/authentication.k8s.io/v1/tokenreviews',
    () => start('authentication.k8s.io/v1', 'TokenReview', `"spec":{"token":"${fill('a.', 2_900_000)}"}}`),
  ],
  'policy expression': [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => policy(fill('1+', 2_000_000) + '1 == 1'),
  ],
  'policy expression in brackets': [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => policy(fill('(', 2_000_000)),
  ],
  'policy expression of lists': [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => policy(`[${fill('1,', 2_000_000)}1].exists(x, x == 2)`),
  ],
  'policy expression of calls': [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => policy(`object${fill('.a', 2_000_000)} == 1`),
  ],
  'metrics in an annotation': [
    '/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers',
    () =>
      `{"metadata":{"name":"a","annotations":{"autoscaling.alpha.kubernetes.io/metrics":"[${fill('{},', 2_900_000)}{}]"}},"spec":{"maxReplicas":1}}`,
  ],
  'many policy expressions': [
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () =>
      list(
        (i) => `{"expression":"object.metadata.name != 'n${i}'"}`,
        [
          start(
            'admissionregistration.k8s.io/v1',
            'ValidatingAdmissionPolicy',
            '"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["a"]}]},"validations":[',
          ),
          ']}}',
        ],
      ),
  ],
};

function policy(expression: string): string {
  return start(
    'admissionregistration.k8s.io/v1',
    'ValidatingAdmissionPolicy',
    `"spec":{"matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["a"]}]},"validations":[{"expression":"${expression}"}]}}`,
  );
}

function crd(schema: string): string {
  return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"as.g.example"},"spec":{"group":"g.example","scope":"Namespaced","names":{"plural":"as","singular":"a","kind":"A","listKind":"AList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":${schema}}}]}}`;
}

const OBJECT = '{"type":"object","properties":{';

const schemas: Readonly<Record<string, () => string>> = {
  properties: () => list((i) => `"p${i}":{"type":"string"}`, [OBJECT, '}}'], 2_900_000),
  depth: () => `${`${OBJECT}"p":`.repeat(450)}{"type":"string"}${'}}'.repeat(450)}`,
  enum: () => list((i) => `"e${i}"`, [`${OBJECT}"p":{"type":"string","enum":[`, ']}}}'], 2_900_000),
  'all of': () => list(() => '{}', [`${OBJECT}"p":{"type":"string","allOf":[`, ']}}}'], 2_900_000),
  required: () => list((i) => `"p${i}"`, ['{"type":"object","required":[', ']}'], 2_900_000),
  rules: () =>
    list(
      (i) => `{"rule":"self.p != 'v${i}'"}`,
      ['{"type":"object","properties":{"p":{"type":"string","maxLength":10}},"x-kubernetes-validations":[', ']}'],
      2_900_000,
    ),
  'properties with rules': () =>
    list(
      (i) => `"p${i}":{"type":"string","maxLength":9,"x-kubernetes-validations":[{"rule":"self != 'a'"}]}`,
      [OBJECT, '}}'],
      2_900_000,
    ),
  patterns: () =>
    list((i) => `"p${i}":{"type":"string","pattern":"^(a|b){1,${(i % 900) + 1}}$"}`, [OBJECT, '}}'], 2_900_000),
  'a long pattern': () => `${OBJECT}"p":{"type":"string","pattern":"${fill('(a|', 1_000_000)}"}}}`,
  'a repeated pattern': () =>
    `${OBJECT}"p":{"type":"string","pattern":"((((a{1,100}){1,100}){1,100}){1,100}){1,100}"}}}`,
  defaults: () => list((i) => `"p${i}":{"type":"string","default":"d"}`, [OBJECT, '}}'], 2_900_000),
  'a large default': () =>
    list(
      () => '[]',
      [`${OBJECT}"p":{"type":"array","items":{"type":"array","items":{"type":"string"}},"default":[`, ']}}}'],
      2_900_000,
    ),
};

export function resourceInputs(): HostileInput[] {
  const many = list(
    (i) =>
      `{"name":"v${i}","served":true,"storage":${i === 0},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
    [
      '{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"bs.g.example"},"spec":{"group":"g.example","scope":"Namespaced","names":{"plural":"bs","kind":"B"},"versions":[',
      ']}}',
    ],
    2_900_000,
  );
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  return [
    ...Object.entries(pods).map(([name, body]): HostileInput => ({
      name: `pod: ${name}`,
      request: () => post('pods', body()),
    })),
    ...Object.entries(others).map(([name, [path, body]]): HostileInput => ({
      name: `object: ${name}`,
      request: () => post(path, body()),
    })),
    ...Object.entries(schemas).map(([name, schema]): HostileInput => ({
      name: `CRD: ${name}`,
      request: () => post(definitions, crd(schema())),
    })),
    { name: 'CRD: versions', request: () => post(definitions, many) },
  ];
}
