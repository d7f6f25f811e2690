{{- /*
The Deployment of a component that needs no rights on its machine: api and signer. It meets the Pod Security Standard
"restricted". Takes a dict with the root and the component.
*/ -}}
{{- define "vouchbox.withoutRights" -}}
{{- $own := index .root.Values .component -}}
{{- $signs := eq .component "signer" -}}
apiVersion: apps/v1
kind: Deployment
metadata: {{- include "vouchbox.metadata" . | nindent 2 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false $own) }}
  replicas: {{ $own.replicas }}
  {{- end }}
  strategy: {{- toYaml $own.strategy | nindent 4 }}
  selector:
    matchLabels: {{- include "vouchbox.selector" . | nindent 6 }}
  template:
    metadata: {{- include "vouchbox.podMetadata" . | nindent 6 }}
    spec:
      {{- include "vouchbox.podStart" . | nindent 6 }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile:
          type: RuntimeDefault
      {{- if $signs }}
      initContainers:
        # The service accepts a signing key only from a file that it owns and that nobody else can read.
        - name: signing-key
          image: {{ include "vouchbox.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command:
            - /bin/sh
            - -ec
            - install -d -m 700 "$DATA" "$DATA/attestation-keys"; install -m 600 "$KEY/signing-key.pem" "$DATA/attestation-keys/signing-key.pem"
          env:
            - name: DATA
              value: /var/lib/vouchbox/data
            - name: KEY
              value: /run/signing-key
          securityContext: {{- include "vouchbox.noRights" . | nindent 12 }}
          resources:
            requests: { cpu: 10m, memory: 32Mi }
            limits: { memory: 64Mi }
          volumeMounts:
            - name: data
              mountPath: /var/lib/vouchbox
            - name: signing-key
              mountPath: /run/signing-key
              readOnly: true
      {{- end }}
      containers:
        - name: vouchbox
          image: {{ include "vouchbox.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [/opt/vouchbox/node_modules/.bin/vouchbox]
          args: [serve]
          env:
            # No user in the image has this number, so there is no home directory.
            - name: HOME
              value: /tmp
            {{- include "vouchbox.environment" . | nindent 12 }}
          ports:
            - name: http
              containerPort: 8080
          securityContext: {{- include "vouchbox.noRights" . | nindent 12 }}
          {{- include "vouchbox.startAndLife" . | nindent 10 }}
          readinessProbe:
            {{- if $signs }}
            httpGet: { path: /readyz, port: http }
            {{- else }}
            # /readyz fails at every pod at once while the database is away or no executor is alive. Callers should then
            # get an answer that says so, and be able to read what can be read.
            httpGet: { path: /healthz, port: http }
            {{- end }}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          lifecycle:
            preStop:
              exec:
                # The load balancer learns that the pod is going before the pod refuses connections.
                command: [sleep, "5"]
          resources: {{- toYaml $own.resources | nindent 12 }}
          volumeMounts:
            - name: data
              mountPath: /var/lib/vouchbox
            - name: secrets
              mountPath: /etc/vouchbox/secrets
              readOnly: true
            - name: temporary
              mountPath: /tmp
      volumes:
        # Everything that must outlive a pod is in the database.
        - name: data
          emptyDir:
            {{- if $signs }}
            # The key is never on the machine's disk.
            medium: Memory
            {{- end }}
            sizeLimit: {{ $own.dataSize }}
        - name: temporary
          emptyDir:
            medium: Memory
            sizeLimit: {{ $own.temporarySize }}
        {{- if $signs }}
        - name: signing-key
          secret:
            secretName: {{ required "attestation.existingSecret names the Secret with signing-key.pem" .root.Values.attestation.existingSecret }}
            defaultMode: 0440
        {{- end }}
        {{- include "vouchbox.secrets" (dict "root" .root "mode" "0440") | nindent 8 }}
{{- end -}}

{{- define "vouchbox.noRights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
