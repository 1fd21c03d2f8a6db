"""On-policy distillation: a teacher scores the tokens that the policy, the student, has sampled.

``credit`` defines the advantage of a token, ``settings`` the section ``--distill.*``,
``teacher_names`` its names of teachers; ``teachers`` and ``served`` are the scoring models,
``vocabulary`` checks that tokens agree, ``privileged`` adds information for the teacher alone.
"""
