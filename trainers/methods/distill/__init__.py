"""On-policy distillation: a teacher scores the tokens that the policy, the student, has sampled.

``credit`` is what a token is worth, ``settings`` the section ``--distill.*``, ``teacher_names``
what it may name; ``teachers`` and ``served`` are the models that score, ``vocabulary`` whether
they mean the same tokens, ``privileged`` what a teacher reads and the student does not.
"""
