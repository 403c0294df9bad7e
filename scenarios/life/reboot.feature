@life @needs:DRAPartitionableDevices
Feature: Nodes that reboot
  A reboot takes every process and every GPU instance, and leaves what lies on disks: the driver's checkpoint, the
  kubelet's, the pods' claims. The kubelet withdraws what the node has published, and the driver publishes it again within
  half a minute. MIG mode is kept by boards before Hopper and forgotten from Hopper on. A pod that is to be
  started again gets its partition again.

  @dra-driver-nvidia-gpu-951 @kubernetes-141433
  Scenario Outline: dra-driver-nvidia-gpu 951, kubernetes 141433: a pod on a partition of a <card> comes again after a reboot
    Given a node with 1 "<card>" in MIG mode
    And this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaim
      metadata: {name: kept}
      spec:
        devices:
          requests:
          - name: gpu
            exactly:
              deviceClassName: mig.nvidia.com
              selectors:
              - cel: {expression: 'device.attributes["gpu.nvidia.com"].profile == "<profile>"'}
      ---
      apiVersion: v1
      kind: Pod
      metadata: {name: lasting}
      spec:
        restartPolicy: Always
        terminationGracePeriodSeconds: 2
        automountServiceAccountToken: false
        resourceClaims: [{name: gpu, resourceClaimName: kept}]
        containers:
        - name: main
          image: sliceproof.local/gpu-test:1
          imagePullPolicy: Never
          command: [sh, -c, "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"]
          resources: {claims: [{name: gpu}]}
      """
    Then pod "lasting" runs
    And claims, counters and the card agree
    When the node reboots
    Then the cards of the node are cut into "<profile>" within 60 seconds
    And pod "lasting" runs within 60 seconds
    And each running pod sees 1 GPU and 1 MIG device
    And the node offers its cards again within 60 seconds
    And claims, counters and the card agree
    When a pod claims one "<profile>"
    Then 2 pods run
    And claims, counters and the card agree
    When all pods end
    Then nothing is left behind on the node

    Examples:
      | card           | profile |
      | A100-SXM4-40GB | 3g.20gb |
      | H100-SXM5-80GB | 3g.40gb |

  Scenario: a pod that is not to be started again ends with the node, and leaves nothing
    Given a node with 1 "A100-SXM4-40GB" in MIG mode
    When a pod claims one "3g.20gb"
    Then 1 pod runs, each on a partition of its own
    When the node reboots
    Then nothing is left behind on the node
    When a pod claims one "7g.40gb"
    Then pod "pod-2" runs
    And claims, counters and the card agree
