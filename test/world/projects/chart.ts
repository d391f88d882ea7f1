/**
 * A chart like those of helm users: a definition in crds/, hooks around each change, a test, and objects that depend on values.
 */

/** An image whose containers complete at once in the simulated cluster. */
export const CHART_TASK_IMAGE = 'task:1';

const task = (name: string, hook: string) => `
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-${name}
  annotations: { helm.sh/hook: "${hook}", helm.sh/hook-weight: "-5", helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded" }
spec:
  backoffLimit: 1
  template: { spec: { restartPolicy: Never, containers: [{ name: task, image: "${CHART_TASK_IMAGE}" }] } }
`;

/** The chart's files by path. */
export const chart: Readonly<Record<string, string>> = {
  'Chart.yaml': 'apiVersion: v2\nname: cache\nversion: 0.1.0\nappVersion: "1"\n',
  'values.yaml': 'replicas: 1\nimage: cache:1\nheadless: true\n',
  'crds/snapshots.yaml': `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: snapshots.chart.world.example }
spec:
  group: chart.world.example
  scope: Namespaced
  names: { plural: snapshots, singular: snapshot, kind: Snapshot }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: { type: object, properties: { spec: { type: object, properties: { every: { type: string, default: 1h } } } } }
`,
  'templates/cache.yaml': `
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: {{ .Release.Name }} }
spec:
  replicas: {{ .Values.replicas }}
  serviceName: {{ .Release.Name }}
  selector: { matchLabels: { app: cache } }
  template:
    metadata: { labels: { app: cache }, annotations: { checksum: {{ toYaml .Values | sha256sum }} } }
    spec: { containers: [{ name: cache, image: {{ .Values.image | quote }}, ports: [{ name: tcp, containerPort: 6379 }] }] }
---
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }} }
spec: { {{ if .Values.headless }}clusterIP: None, {{ end }}selector: { app: cache }, ports: [{ name: tcp, port: 6379, targetPort: tcp }] }
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: {{ .Release.Name }} }
spec: { maxUnavailable: 1, selector: { matchLabels: { app: cache } } }
---
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }} }
stringData: { password: {{ (lookup "v1" "Secret" .Release.Namespace .Release.Name).data | toString | sha256sum }} }
---
apiVersion: chart.world.example/v1
kind: Snapshot
metadata: { name: {{ .Release.Name }} }
spec: {}
`,
  'templates/before.yaml': task('before', 'pre-install,pre-upgrade,pre-rollback'),
  'templates/after.yaml': task('after', 'post-install,post-upgrade'),
  'templates/farewell.yaml': task('farewell', 'pre-delete'),
  'templates/test.yaml': `
apiVersion: v1
kind: Pod
metadata: { name: {{ .Release.Name }}-test, annotations: { helm.sh/hook: test, helm.sh/hook-delete-policy: hook-succeeded } }
spec: { restartPolicy: Never, containers: [{ name: test, image: "${CHART_TASK_IMAGE}" }] }
`,
};
