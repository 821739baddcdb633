"""Record counted requests of a model in the form of a law: common requests without a closed form."""

from __future__ import annotations

from collections.abc import Iterable

from diffprof.counting.derivation.pieces import Piece, law_of
from diffprof.counting.derivation.prove import compare_with_sample
from diffprof.counting.derivation.sampling import CountedSample, Sampler
from diffprof.counting.derivation.subject import Subject
from diffprof.errors import DiffprofError
from diffprof.laws.fitting import Fitter
from diffprof.laws.law import Domain, Law, Range, guidance_class
from diffprof.laws.packing import NoLaw, fit_program
from diffprof.laws.prompts import USUAL_TOKENS
from diffprof.laws.variation import Variation, variation_of
from diffprof.record.request import Request


def record_requests(model: str, requests: Iterable[Request]) -> Law:
    """Return a law of exactly these requests; those that the pipeline refuses are left out."""
    sampler = Sampler(model)
    subject = Subject(sampler)
    pieces: list[Piece] = []
    samples: list[CountedSample] = []
    for request in requests:
        variation = variation_of(request)
        if variation is None:
            continue
        try:
            sample = sampler.run(request.arguments, variation=variation)
        except DiffprofError:
            continue  # the pipeline has no such switch, or no guidance interval
        pieces.append(_piece(subject, sample, variation))
        samples.append(sample)
    if not pieces:
        raise NoLaw("the pipeline accepts none of the requests")
    law = law_of(subject, pieces)
    for sample in samples:
        compare_with_sample(law, sample)
    return law


def _piece(subject: Subject, sample: CountedSample, variation: Variation) -> Piece:
    given = sample.request.arguments
    numbers = {
        source: USUAL_TOKENS if source == "tokens" else given.get(name, subject.defaults[name])
        for source, name in subject.sources.items()
    }
    ranges = {source: Range(number, number) for source, number in numbers.items()}
    scale = None if subject.guidance is None else given.get(subject.guidance, subject.default_scale)
    classes = () if scale is None else (guidance_class(scale),)
    fitted = fit_program([sample.values], Fitter([{}], {}, []))
    return Piece(fitted, Domain(ranges, classes, variation=variation), scale)
