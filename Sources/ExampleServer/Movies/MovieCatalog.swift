/// All films, generated from a few words by fixed rules, so that there are enough for several pages.
struct MovieCatalog: Sendable {
    /// The titles by id.
    let titles: [Int: String]
    /// The ids, the most popular first.
    let popular: [Int]
    /// The ids, the newest first.
    let new: [Int]

    init() {
        let (beginnings, ends) = (ExampleData.titleBeginnings, ExampleData.titleEnds)
        let ids = Array(1...ExampleData.popularMovies)
        titles = Dictionary(
            uniqueKeysWithValues: ids.map { id in
                (id, "\(beginnings[id % beginnings.count]) \(ends[id % ends.count])")
            })
        popular = ids
        new = Array(ids.suffix(ExampleData.newMovies).reversed())
    }

    /// Returns the films whose titles begin with the same word.
    func recommended(with id: Int) -> [Int] {
        let count = ExampleData.titleBeginnings.count
        return popular.filter { $0 != id && $0 % count == id % count }
    }

    /// Returns the videos of a film. Every third film has none.
    func videos(of id: Int) -> [JSON] {
        guard !id.isMultiple(of: 3) else { return [] }
        return ["Trailer", "Teaser"].map { type in
            [
                "id": "video-\(id)-\(type.lowercased())", "key": "key\(id)", "name": "\(titles[id] ?? ""): \(type)",
                "site": "YouTube", "type": .string(type),
            ]
        }
    }

    /// Returns the film that has a poster of that name.
    func movie(withPoster name: String) -> Int? {
        popular.first { poster(of: $0) == name }
    }

    private func poster(of id: Int) -> String? {
        id.isMultiple(of: 4) ? nil : "poster-\(id).jpg"
    }

    /// Returns a film. Every fourth has no poster, and every fifth no backdrop.
    func json(of id: Int) -> JSON {
        [
            "id": .int(id), "title": JSON(titles[id]),
            "poster_path": JSON(poster(of: id).map { "/" + $0 }),
            "backdrop_path": id.isMultiple(of: 5) ? .null : "/backdrop-\(id).jpg",
            "release_date": "20\(twoDigits(10 + id % 15))-\(twoDigits(1 + id % 12))-\(twoDigits(1 + id % 28))",
            "vote_average": .double(Double(50 + id % 45) / 10), "overview": "What happens in film number \(id).",
        ]
    }

    private func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }
}
