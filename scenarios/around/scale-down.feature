@around @scale-down
Feature: Which node may go
  Whoever makes a cluster smaller must not take a card that somebody holds, unless there is another one for it elsewhere. What
  an autoscaler reckons from processors and memory says nothing of that.

  Scenario: a node may go when its claims find their devices elsewhere
    Given these nodes:
      | node   | cards | model          | MIG | offered by |
      | node-1 | 2     | A100-SXM4-40GB | off | DRA driver |
      | node-2 | 1     | A100-SXM4-40GB | off | DRA driver |
    Then node "node-1" may go
    And node "node-2" may go
    When a pod claims a whole card
    And a pod claims a whole card
    Then 2 pods run
    And node "node-1" must stay, since "would find no device elsewhere"
    When a pod claims a whole card
    Then 3 pods run
    And node "node-1" must stay, since "would find no device elsewhere"
    And node "node-2" must stay, since "would find no device elsewhere"
    When all pods end
    Then node "node-1" may go
    And node "node-2" may go

  @hand-written-slices
  Scenario: a pool of several nodes is not torn apart
    Given a node with 1 "A100-SXM4-40GB"
    When this manifest is applied:
      """
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: fabric-1}
      spec:
        driver: fabric.example
        nodeName: node-1
        pool: {name: fabric, generation: 1, resourceSliceCount: 2}
        devices: [{name: port-1}]
      ---
      apiVersion: resource.k8s.io/v1
      kind: ResourceSlice
      metadata: {name: fabric-2}
      spec:
        driver: fabric.example
        nodeName: node-9
        pool: {name: fabric, generation: 1, resourceSliceCount: 2}
        devices: [{name: port-2}]
      """
    Then node "node-1" must stay, since "pool fabric of fabric.example has slices of other nodes"
