Feature: Manifests that are none

  Scenario: the file is not there
    Given the manifest "nowhere.yaml" is applied
    Then pod "p" runs

  Scenario: the file is not YAML
    Given the manifest "broken.yaml" is applied
    Then pod "p" runs

  Scenario: an object without a name
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: Pod
      """
    Then pod "p" runs

  Scenario: YAML that breaks in its third line
    Given this manifest is applied:
      """
      apiVersion: v1
      kind: Pod
        metadata: 1
      """
    Then pod "p" runs

  Scenario: a claim with more than a claim has
    When a pod claims:
      """
      requests: []
      spec: {}
      """
    Then 1 pod runs

  Scenario: a name that is none
    Then pod "Large" runs

  Scenario: a plan of faults with a function that is none
    Given calls of NVML on the node go wrong:
      """
      format: 1
      calls:
      - {function: nvmlDeviceGetNothing, error: UNKNOWN}
      """
    Then 1 pod runs
