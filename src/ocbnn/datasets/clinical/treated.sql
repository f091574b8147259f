-- The windows of each stay in which a vasopressor ran or a fluid bolus was given.

-- Metavision charts intervals. A bolus is a volume given at its hourly rate or faster.
CREATE VIEW metavision_treatments AS
SELECT e.subject_id, t.kind, e.starttime, greatest(e.starttime, e.endtime) AS endtime
FROM inputevents_mv AS e
JOIN treatments AS t USING (itemid)
WHERE coalesce(e.statusdescription, '') <> 'Rewritten'
    AND CASE t.kind
        WHEN 'vasopressor' THEN coalesce(e.rate, e.amount) > 0
        WHEN 'bolus' THEN
            millilitres(e.amount, e.amountuom) BETWEEN t.low AND t.high
            AND millilitres(e.amount, e.amountuom)
                >= t.low * date_diff('second', e.starttime, e.endtime) / 3600
    END;

-- Carevue charts moments: a rate holds until the drug's next record, an hour at most;
-- a bolus is one volume, written down when it was in.
CREATE VIEW carevue_treatments AS
SELECT
    subject_id,
    kind,
    charttime AS starttime,
    CASE kind
        WHEN 'bolus' THEN charttime
        ELSE least(coalesce(following, 'infinity'), charttime + INTERVAL 1 HOUR)
    END AS endtime
FROM (
    SELECT
        e.*,
        t.*,
        lead(e.charttime) OVER (
            PARTITION BY e.subject_id, e.itemid ORDER BY e.charttime, e.rate
        ) AS following
    FROM inputevents_cv AS e
    JOIN treatments AS t USING (itemid)
)
WHERE CASE kind
    WHEN 'vasopressor' THEN
        rate > 0 AND coalesce(stopped, '') NOT IN ('Stopped', 'D/C''d')
    WHEN 'bolus' THEN millilitres(amount, amountuom) BETWEEN low AND high
END;

CREATE TABLE treated AS
WITH given AS (
    SELECT * FROM metavision_treatments UNION ALL SELECT * FROM carevue_treatments
),
placed AS (
    SELECT
        s.icustay_id,
        g.kind,
        windows_between(s.intime, g.starttime) AS first,
        windows_between(s.intime, g.endtime) AS past
    FROM given AS g
    JOIN kept_stays AS s
        ON g.subject_id = s.subject_id
        AND g.starttime < s.outtime
        AND g.endtime >= s.intime
)
SELECT DISTINCT
    icustay_id,
    kind,
    unnest(range(
        greatest(0, floor(first))::BIGINT, greatest(floor(first) + 1, ceil(past))::BIGINT
    ))::INTEGER AS window_index
FROM placed;
