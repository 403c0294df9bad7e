Feature: Marks that mark nothing

  @expected-fail
  Scenario: without a number
    Then 1 pod runs

  @expected-failure:kubernetes-1
  Scenario: another word
    Then 1 pod runs

  @flaky
  Scenario: the word of others
    Then 1 pod runs

  @expected-fail:kubernetes-1 @nondeterministic
  Scenario: both at once
    Then 1 pod runs
